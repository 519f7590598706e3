import { topicEnds, withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { connectProducer, type LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import { partitionsProblem, type LogLayout } from '../../platform/log/layout.ts';
import type { Config, Names } from './config.ts';
import type { KnownEnds } from './sweep-progress.ts';

interface ConnectOptions {
  config: Config;
  names: Names;
  log: Log;
  signal: AbortSignal;
}

/**
 * Above so many bytes in flight to Kafka nothing more is published; the producer's limit is higher.
 */
export const IN_FLIGHT_BYTES = 32 * 1024 * 1024;

/** Producer of row batches, verdicts and dead letters. Retries until Kafka answers. */
export function connectNormaliserProducer({
  config,
  log,
  signal,
}: ConnectOptions): Promise<LogProducer> {
  return retryUntilAborted({ log, signal, code: 'waiting', what: 'connecting to Kafka' }, () =>
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
 * Counts the partitions of the topics, and waits for missing topics. Throws when they differ from
 * the recorded layout or, where none is recorded, from one another.
 */
export async function countPartitions({
  config,
  names,
  log,
  signal,
  layout,
}: ConnectOptions & { layout?: LogLayout | undefined }): Promise<{ events: number; dead: number }> {
  const what = `reading the topics ${names.raw}, ${names.normalised}, ${names.verdicts} and ${names.dead}`;
  const { raw, normalised, verdicts, dead } = await retryUntilAborted(
    { log, signal, code: 'waiting', what },
    () =>
      withKafkaAdmin(config, async (admin) => ({
        raw: (await topicEnds(admin, names.raw)).length,
        normalised: (await topicEnds(admin, names.normalised)).length,
        verdicts: (await topicEnds(admin, names.verdicts)).length,
        dead: (await topicEnds(admin, names.dead)).length,
      })),
  );
  if (layout) {
    const found = { [names.raw]: raw, [names.normalised]: normalised, [names.verdicts]: verdicts };
    const problem = partitionsProblem(layout, new Map(Object.entries(found)));
    if (problem !== undefined) throw new Error(problem);
    return { events: layout.partitions, dead };
  }
  if (raw !== normalised || raw !== verdicts) {
    throw new Error(
      `${names.raw} has ${raw} partitions, ${names.normalised} ${normalised} and ${names.verdicts} ${verdicts}: partition p goes to partition p, so they must be equal. ` +
        'Remove the one that differs while it is empty, and let `./ravand up` create it again with EVENTS_PARTITIONS of the others',
    );
  }
  return { events: raw, dead };
}

interface WatchOptions extends Omit<ConnectOptions, 'config'> {
  producer: Pick<LogProducer, 'watermarks'>;
  /** Partitions of events.raw and events.normalised. */
  partitions: () => number;
}

/** Reads the ends of events.raw and events.normalised every five seconds. */
export function watchEnds(options: WatchOptions): () => KnownEnds | undefined {
  const { producer, partitions, names, log, signal } = options;
  let known: KnownEnds | undefined;
  const endsOf = async (topic: string) => {
    const ends = new Map<number, { low: number; high: number }>();
    for (let partition = 0; partition < partitions() && !signal.aborted; partition++)
      ends.set(partition, await producer.watermarks({ topic, partition }, WATERMARKS_MS));
    return ends;
  };
  const refresh = async () => {
    const at = Date.now();
    try {
      const ends = await endsOf(names.raw);
      const normalised = await endsOf(names.normalised);
      known = {
        ...{ at, ends },
        normalised: new Map([...normalised].map(([partition, { high }]) => [partition, high])),
      };
    } catch (error) {
      log.debug({ err: error }, 'cannot read the ends of the topics');
    }
    if (!signal.aborted) setTimeout(() => void refresh(), ENDS_INTERVAL_MS).unref();
  };
  void refresh();
  return () => known;
}

const ENDS_INTERVAL_MS = 5000;
const WATERMARKS_MS = 5000;
