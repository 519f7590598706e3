import type { Admin } from 'kafkajs';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import { readWriters, WRITER_LIVES_FOR } from '../../platform/log/writers.ts';
import type { OperationWait } from '../../platform/operations/operation-wait.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { ErasureCut } from '../../schemas/records.ts';
import { CONSUMER_GROUPS, METERING_READER, TOPIC, type Topic } from '../../schemas/topology.ts';
import type { Barrier, Ends } from './erasure-row.ts';

interface Servers {
  admin: Admin;
  database: Database;
}

/** Topics beside events.raw that hold personal data, or count events. */
const AWAITED: readonly Topic[] = [
  TOPIC.normalised,
  TOPIC.verdicts,
  TOPIC.dead,
  TOPIC.channelCommands,
  TOPIC.messagesPlanned,
  TOPIC.messagesOutcomes,
];

/** Of a sentence of another process. */
const MAX_REASON = 200;

export async function endsOf(admin: Admin, topic: string): Promise<Ends> {
  const ends = await topicEnds(admin, topic);
  return Object.fromEntries(ends.map(({ partition, high }) => [partition, high]));
}

/** The end of events.raw now, with the epoch of each partition. */
export async function cutNow({ admin, database }: Servers): Promise<ErasureCut[]> {
  const epochs = await readEpochs(database, TOPIC.raw);
  return (await topicEnds(admin, TOPIC.raw)).map(({ partition, high }) => ({
    partition,
    epoch: epochs.newest(partition),
    offset: high,
  }));
}

/**
 * Why events that were accepted before the erasure may still come into the log behind the cut.
 * @param since ms since the erasure was requested
 */
export async function spooling(
  database: Database,
  { since, forget }: { since: number; forget: boolean },
): Promise<OperationWait[]> {
  return (await readWriters(database)).flatMap((writer): OperationWait[] => {
    const { service, instance, spooled: events, waitsFor: reason, age } = writer;
    const of = { service, instance };
    if (age >= WRITER_LIVES_FOR)
      return events === 0 || forget
        ? []
        : [{ key: 'spool_of_ended', ...of, events, seen_at: minuteBefore(age) }];
    if (events > 0) return [{ key: 'spool', ...of, events, reason: reason.slice(0, MAX_REASON) }];
    // It has not said since then that its spool is empty.
    return age >= since ? [{ key: 'spool_unknown', ...of }] : [];
  });
}

/** The same for each read of a process that is not seen again. */
function minuteBefore(age: number): string {
  return new Date(Math.floor((Date.now() - age) / 60_000) * 60_000).toISOString();
}

/** The groups of events.raw that have not processed everything up to the cut. */
export async function rawBehind(
  servers: Servers,
  cuts: readonly ErasureCut[],
): Promise<OperationWait[]> {
  const ends = Object.fromEntries(cuts.map(({ partition, offset }) => [partition, offset]));
  return behind(servers, { [TOPIC.raw]: ends });
}

/** What the groups of these topics must process; read once events.raw is processed. */
export async function barrierNow({ admin }: Servers): Promise<Barrier> {
  const barrier: Record<string, Ends> = {};
  for (const topic of AWAITED) barrier[topic] = await endsOf(admin, topic);
  return barrier;
}

/** The groups that have not reached the barrier. */
export async function behind(
  { admin, database }: Servers,
  barrier: Barrier,
): Promise<OperationWait[]> {
  const waiting: OperationWait[] = [];
  for (const [topic, ends] of Object.entries(barrier))
    for (const { group, service } of CONSUMER_GROUPS.filter((one) => one.topic === topic)) {
      const position =
        service === METERING_READER
          ? await meteringPositions(database, topic)
          : await committedOffsets(admin, group, topic);
      const low = new Map((await topicEnds(admin, topic)).map((of) => [of.partition, of.low]));
      const records = Object.entries(ends).reduce((sum, [partition, end]) => {
        const at = position.get(Number(partition)) ?? low.get(Number(partition)) ?? 0;
        return sum + Math.max(0, end - Math.max(at, low.get(Number(partition)) ?? 0));
      }, 0);
      if (records > 0) waiting.push({ key: 'group', group, topic, records });
    }
  return waiting;
}

async function meteringPositions(database: Database, topic: string): Promise<Map<number, number>> {
  const { rows } = await database.query<{ partition: number; next_offset: string }>(
    'SELECT partition, next_offset FROM log_positions WHERE reader = $1 AND topic = $2',
    [METERING_READER, topic],
  );
  return new Map(rows.map(({ partition, next_offset }) => [partition, Number(next_offset)]));
}
