import { TOPIC } from '../../schemas/topology.ts';
import type { Admin } from 'kafkajs';
import { eventOffsetKey } from '../../schemas/log-position.ts';
import { VerdictLog } from '../../pipeline/replay/verdict-log.ts';
import { offsetsAt, topicEnds } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { epochAsOf, readEpochs } from '../../platform/log/epochs.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { verdictRecordCodec } from '../../schemas/codec.ts';
import { decodeDeadLetter } from '../dlq/read-dead-letter.ts';

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
  database: Database;
}

/**
 * Whether what names a raw offset, in record `at` of a partition of `topic`, is about the record
 * that is there now: the log may have gone back since.
 */
async function currentRecords(
  database: Database,
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
  if (ends.low > 0) {
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

/** Maximum number of positions in memory. */
const MAX_POSITIONS = 2_000_000;

/**
 * Raw positions with a dead letter of the normaliser: they did not become rows when they were
 * processed. Reads the whole topic once.
 */
export async function deadLetterPositions(
  { settings, admin, database }: VerdictQuery,
  signal: AbortSignal,
): Promise<(partition: number, at: { offset: number; index: number }) => boolean> {
  const positions = new Set<string>();
  const isNow = await currentRecords(database, TOPIC.dead);
  for (const { partition, low, high } of await topicEnds(admin, TOPIC.dead)) {
    const range = { topic: TOPIC.dead, partition, from: low, to: high };
    for await (const messages of readRange({
      settings,
      clientId: 'ravand-replay',
      range,
      signal,
    })) {
      for (const message of messages) {
        const deadLetter = decodeDeadLetter(message.value);
        if (deadLetter?.topic !== TOPIC.raw || !isNow(deadLetter, message)) continue;
        const { partition: of, offset, index, indexes } = deadLetter;
        if (index === null) positions.add(`${of} ${offset}`);
        else
          for (const item of [index, ...indexes])
            positions.add(`${of} ${eventOffsetKey({ offset, index: item })}`);
        if (positions.size > MAX_POSITIONS)
          throw new Error(
            `events.dead holds more than ${MAX_POSITIONS} dead letters: discard or redrive them first (./ravand dlq)`,
          );
      }
    }
  }
  return (partition, at) =>
    positions.has(`${partition} ${eventOffsetKey(at)}`) ||
    positions.has(`${partition} ${at.offset}`);
}
