import { topicEnds, withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { retry } from '../../platform/backoff.ts';
import { connectProducer, type LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import type { Config, Names } from './config.ts';
import type { KnownEnds } from './sweep-progress.ts';

interface Circumstances {
  config: Config;
  names: Names;
  log: Log;
  signal: AbortSignal;
}

/** Above so many bytes in flight to Kafka nothing more is published; the producer's limit is higher. */
export const IN_FLIGHT_BYTES = 32 * 1024 * 1024;
const RETRY = { base: 200, cap: 5000, attempts: Number.POSITIVE_INFINITY };

/**
 * The producer of runs and letters. An unreachable Kafka is waited for; rejects when the signal
 * aborts.
 */
export function connectNormaliserProducer({
  config,
  log,
  signal,
}: Circumstances): Promise<LogProducer> {
  const onFailure = waitingFor(log, 'Kafka');
  return retry({ ...RETRY, signal, onFailure }, () =>
    connectProducer({
      settings: config,
      log,
      clientId: 'ravand-normaliser',
      timeout: config.NORMALISER_PUBLISH_TIMEOUT,
      linger: 1,
      pollInterval: 2,
      maxQueued: { records: 500_000, bytes: 16 * IN_FLIGHT_BYTES },
    }),
  );
}

/**
 * Counts the partitions of the topics, and waits for topics that are not there yet. Throws when
 * those that belong together differ.
 */
export async function countPartitions({
  config,
  names,
  log,
  signal,
}: Circumstances): Promise<{ events: number; dead: number }> {
  const onFailure = waitingFor(
    log,
    `the topics ${names.raw}, ${names.normalised}, ${names.verdicts} and ${names.dead}`,
  );
  const { raw, normalised, verdicts, dead } = await retry({ ...RETRY, signal, onFailure }, () =>
    withKafkaAdmin(config, async (admin) => ({
      raw: (await topicEnds(admin, names.raw)).length,
      normalised: (await topicEnds(admin, names.normalised)).length,
      verdicts: (await topicEnds(admin, names.verdicts)).length,
      dead: (await topicEnds(admin, names.dead)).length,
    })),
  );
  if (raw !== normalised || raw !== verdicts) {
    throw new Error(
      `${names.raw} has ${raw} partitions, ${names.normalised} ${normalised} and ${names.verdicts} ${verdicts}: partition p goes to partition p, so they must be equal. ` +
        'Remove the one that differs while it is empty, and let `./ravand up` create it again with EVENTS_PARTITIONS of the others',
    );
  }
  return { events: raw, dead };
}

/**
 * Asks for the ends of events.raw every so often, from now on until the signal aborts. The answer
 * is as old as Kafka's last one.
 */
export function watchEnds({
  config,
  names,
  log,
  signal,
}: Circumstances): () => KnownEnds | undefined {
  let known: KnownEnds | undefined;
  const ask = async () => {
    const at = Date.now();
    try {
      const ends = await withKafkaAdmin(config, (admin) => topicEnds(admin, names.raw));
      known = {
        at,
        ends: new Map(ends.map(({ partition, low, high }) => [partition, { low, high }])),
      };
    } catch (error) {
      log.debug({ err: error }, 'the ends of events.raw cannot be read at the moment');
    }
    if (!signal.aborted) setTimeout(() => void ask(), ENDS_EVERY).unref();
  };
  void ask();
  return () => known;
}

const ENDS_EVERY = 10_000;

function waitingFor(log: Log, what: string): (error: unknown, attempt: number) => void {
  return (error, attempt) => {
    if (attempt === 0)
      log.warn({ err: error, code: 'waiting' }, `waiting for ${what}; trying again with backoff`);
  };
}
