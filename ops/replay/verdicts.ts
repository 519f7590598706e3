import { TOPIC } from '../../schemas/topology.ts';
import type { Admin } from 'kafkajs';
import { VerdictLog } from '../../pipeline/replay/verdict-log.ts';
import { offsetsAt, topicEnds } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { epochAsOf, readEpochs } from '../../platform/log/epochs.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { verdictRecordCodec } from '../../schemas/codec.ts';

/** Maximum clock skew between brokers, ms. */
const CLOCK_SKEW_MS = 60_000;

export interface Verdicts {
  log: VerdictLog;
  /** From this raw offset on, all verdicts are retained. */
  coveredFrom: number;
}

interface VerdictQuery {
  settings: KafkaSettings;
  admin: Admin;
  database: Pick<Database, 'query'>;
}

/**
 * Whether what names a raw offset, in record `at` of a partition of `topic`, is about the record
 * that is there now: the log may have gone back since.
 */
async function currentRecords(
  database: Pick<Database, 'query'>,
  topic: string,
): Promise<
  (raw: { partition: number; offset: number }, at: { partition: number; offset: number }) => boolean
> {
  const raw = await readEpochs(database, TOPIC.raw);
  const own = await readEpochs(database, topic);
  return ({ partition, offset }, at) =>
    epochAsOf(raw.of(partition), offset, own.at(at.partition, at.offset)) ===
    raw.at(partition, offset);
}

/** The verdicts of a raw partition from the record appended at `appendedAt` (ms) on. */
export async function openVerdicts(
  { settings, admin, database }: VerdictQuery,
  where: { partition: number; appendedAt: number; signal: AbortSignal },
): Promise<Verdicts> {
  const { partition, signal } = where;
  const ends = (await topicEnds(admin, TOPIC.verdicts)).find(
    (one) => one.partition === partition,
  ) ?? {
    low: 0,
    high: 0,
  };
  const offsets = await offsetsAt(admin, TOPIC.verdicts, where.appendedAt - CLOCK_SKEW_MS);
  const from = Math.max(ends.low, offsets.get(partition) ?? ends.high);
  const pieces = (range: { from: number; to: number }) =>
    readRange({
      settings,
      clientId: 'ravand-verdicts',
      range: { topic: TOPIC.verdicts, partition, ...range },
      signal,
    });
  let coveredFrom = 0;
  // A recreated topic begins at 0 too, and does not reach back to the first record of events.raw.
  const { rows: recreated } = await database.query(
    "SELECT 1 FROM log_epochs WHERE topic = $1 AND partition = $2 AND first_offset = 0 AND reason = 'the log went back'",
    [TOPIC.verdicts, partition],
  );
  if (ends.low > 0 || recreated.length > 0) {
    coveredFrom = Number.POSITIVE_INFINITY;
    for await (const [first] of pieces({ from: ends.low, to: Math.min(ends.low + 1, ends.high) }))
      coveredFrom = first?.value
        ? (verdictRecordCodec.decode(first.value).verdicts[0]?.offset ?? coveredFrom) + 1
        : coveredFrom;
  }
  const isNow = await currentRecords(database, TOPIC.verdicts);
  const isCurrent = (offset: number, at: number) =>
    isNow({ partition, offset }, { partition, offset: at });
  return { log: new VerdictLog(pieces({ from, to: ends.high }), isCurrent), coveredFrom };
}
