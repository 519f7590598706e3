import { TOPIC } from '../../schemas/topology.ts';
import type { Admin } from 'kafkajs';
import { isJsonObject } from '../../events/json.ts';
import { decodeRecords, type DecodeResult } from '../../events/raw/decode-record.ts';
import { firstIndexOf } from '../../events/raw/failure.ts';
import { isUnknownSchema, rowBatchCodec, verdictRecordCodec } from '../../schemas/codec.ts';
import type { LogPosition } from '../../schemas/log-position.ts';
import type { VerdictKind } from '../../schemas/records.ts';
import { sliceRowBatch } from '../../schemas/row-batch.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { offsetsAt, topicEnds } from '../../platform/kafka/admin.ts';
import type { TopicEpochs } from '../../platform/log/epochs.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import { countText, timeText } from '../../cli/format.ts';
import { positionKey, type RawSearch, type RawOccurrence } from './evidence.ts';

interface LogSearch {
  admin: Admin;
  reader: RangeReader;
  /** Of events.raw. */
  epochs: TopicEpochs;
}

/** Which items of raw records are searched. */
export type Wanted =
  | { messageId: string; accountId: number | undefined }
  | { traces: readonly string[]; accountId: number | undefined };

/**
 * How much of the raw log one search reads, over all its partitions: the newest records of each.
 * Only with --since the operator waits longer.
 */
export interface SearchBudget {
  records: number;
  ms: number;
}

/** Around a known position: what has the row needs few records of the log. */
export const BESIDE: SearchBudget = { records: 20_000, ms: 500 };
/** Nothing is known about the event: the end of every partition. */
export const RECENT: SearchBudget = { records: 100_000, ms: 1200 };
/** Searched part of the log when the operator asks for no time, and no position is known, ms. */
export const RECENT_MS = 15 * 60_000;
/** The operator asked for a time. */
export const SINCE: SearchBudget = { records: 2_000_000, ms: 45_000 };

/** The same of channel.commands, which are few: partitions without new ones cost nothing. */
export const COMMANDS_RECENT: SearchBudget = { records: 20_000, ms: 4000 };
export const COMMANDS_SINCE: SearchBudget = { records: 500_000, ms: 30_000 };

const ROW_BATCH_LIMITS = { records: 5000, ms: 500 };
const VERDICT_LIMITS = { records: 10_000, ms: 500 };

/**
 * Occurrences of what is wanted in events.raw within a time range, in one or all partitions. Each
 * partition gets its share of the budget, and what earlier ones left: of a longer range, its end.
 */
export async function searchRaw(
  options: LogSearch & {
    wanted: Wanted;
    from: number;
    to: number | undefined;
    partition: number | undefined;
    budget: SearchBudget;
  },
): Promise<RawSearch> {
  const { from, to, partition: only, budget } = options;
  const ranges = (await rangesBetween(options, { topic: TOPIC.raw, from, to })).filter(
    ({ partition }) => only === undefined || partition === only,
  );
  const found: RawOccurrence[] = [];
  let complete = true;
  let { records, ms } = budget;
  for (const [at, range] of sharedRanges(ranges, budget.records).entries()) {
    if (range.isCut) complete = false;
    const began = performance.now();
    const limits = { records, ms: Math.max(0, ms / (ranges.length - at)) };
    let read = 0;
    const { ended } = await options.reader.search(
      { topic: TOPIC.raw, partition: range.partition, from: range.from, to: range.to, limits },
      (record) => {
        read++;
        found.push(...occurrencesIn(record, options));
        return undefined;
      },
    );
    records = Math.max(0, records - read);
    ms -= performance.now() - began;
    if (ended === 'limit') complete = false;
  }
  const where = only === undefined ? TOPIC.raw : `events.raw ${only}`;
  const span =
    to === undefined ? `since ${timeText(from)}` : `${timeText(from)} to ${timeText(to)}`;
  const newest = complete ? '' : `the newest ${countText(budget.records)} records of `;
  found.sort((a, b) => a.appendedAt - b.appendedAt || a.offset - b.offset);
  return { found, searched: `${newest}${where} ${span}`, complete };
}

interface PartitionRange {
  partition: number;
  from: number;
  to: number;
}

/** The end of each range: all of them together have at most so many records. Pure. */
export function sharedRanges(
  ranges: readonly PartitionRange[],
  records: number,
): (PartitionRange & { isCut: boolean })[] {
  // Smallest first: what they leave is shared by the larger ones.
  const bySize = ranges.toSorted((a, b) => a.to - a.from - (b.to - b.from));
  let left = records;
  return bySize.map((range, at) => {
    const share = Math.floor(left / (bySize.length - at));
    const from = Math.max(range.from, range.to - share);
    left -= Math.max(0, range.to - from);
    return { ...range, from, isCut: from > range.from };
  });
}

/** The occurrences in the record at a position, if it is retained. */
export async function readPosition(
  options: LogSearch & { wanted: Wanted },
  position: LogPosition,
): Promise<RawOccurrence[]> {
  const found: RawOccurrence[] = [];
  const { partition, offset } = position;
  await options.reader.search(
    {
      topic: TOPIC.raw,
      partition,
      from: offset,
      to: offset + 1,
      limits: { records: 1, ms: 6000 },
    },
    (record) => {
      if (record.offset === offset) found.push(...occurrencesIn(record, options));
      return 'found';
    },
  );
  return found;
}

function occurrencesIn(
  record: ConsumedMessage,
  { wanted, epochs }: { wanted: Wanted; epochs: TopicEpochs },
): RawOccurrence[] {
  // A byte comparison rules out most records without decoding.
  const isMessage = 'messageId' in wanted;
  // Each of several traces contains the last one.
  const needle = isMessage ? wanted.messageId : (wanted.traces.at(-1) ?? '');
  if (!record.value?.includes(needle)) return [];
  return decodeRecords(record).flatMap((reading) => occurrencesOf(reading, { wanted, epochs }));
}

function occurrencesOf(
  reading: DecodeResult,
  { wanted, epochs }: { wanted: Wanted; epochs: TopicEpochs },
): RawOccurrence[] {
  if (reading.state !== 'decoded') return [];
  const isMessage = 'messageId' in wanted;
  const accountId = reading.record.account_id;
  if (accountId !== (wanted.accountId ?? accountId)) return [];
  if (!isMessage && !wanted.traces.includes(reading.record.trace)) return [];
  const {
    received_at: receivedAt,
    path,
    source,
    trace,
    gateway,
    items,
    redriven_from: from,
  } = reading.record;
  return items.flatMap((item, index): RawOccurrence[] => {
    if (isMessage && item.message_id !== wanted.messageId) return [];
    const { partition, offset, timestamp: appendedAt } = reading.source;
    const { generated, timestamp } = item;
    const facts = {
      accountId,
      messageId: item.message_id,
      receivedAt,
      path,
      source,
      trace,
      gateway,
      generated,
      timestamp,
      appendedAt,
      redrivenFrom: from ?? undefined,
    };
    return [
      {
        epoch: epochs.at(partition, offset),
        partition,
        offset,
        index: firstIndexOf(reading.source) + index,
        ...facts,
        ...idsIn(reading.envelopes[item.at], item.type),
      },
    ];
  });
}

/** The ids of an item; undefined when the body cannot be read or has none. */
function idsIn(envelope: unknown, type: string): Pick<RawOccurrence, 'distinctId' | 'previousId'> {
  if (!isJsonObject(envelope)) return { distinctId: undefined, previousId: undefined };
  return {
    distinctId: idIn(envelope['user_id']) ?? idIn(envelope['anonymous_id']),
    previousId: type === 'alias' ? idIn(envelope['previous_id']) : undefined,
  };
}

function idIn(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Offset of the row batch in events.normalised that holds a position; undefined when none that is
 * retained does. `appendedAt`: of the raw record, ms.
 */
export async function findRowBatch(
  options: LogSearch,
  occurrence: LogPosition & { appendedAt: number },
): Promise<number | undefined> {
  const [range] = (
    await rangesBetween(options, {
      topic: TOPIC.normalised,
      from: occurrence.appendedAt,
      to: undefined,
    })
  ).filter(({ partition }) => partition === occurrence.partition);
  let at: number | undefined;
  if (!range) return undefined;
  await options.reader.search(
    { topic: TOPIC.normalised, ...range, limits: ROW_BATCH_LIMITS },
    ({ offset, value }) => {
      const head = value === null ? undefined : headOf(value);
      if (!head) return undefined;
      if (compare({ offset: head.last_offset, index: head.last_index }, occurrence) < 0)
        return undefined;
      if (compare({ offset: head.first_offset, index: head.first_index }, occurrence) <= 0)
        at = offset;
      return 'found';
    },
  );
  return at;
}

/** Verdicts of the normaliser on raw positions that did not become rows. */
export async function findVerdicts(
  options: LogSearch,
  wanted: readonly RawOccurrence[],
): Promise<Map<string, VerdictKind>> {
  const found = new Map<string, VerdictKind>();
  for (const [partition, some] of Map.groupBy(wanted, (one) => one.partition)) {
    const open = new Map(some.map((one) => [`${one.offset}/${one.index}`, one]));
    const from = Math.min(...some.map(({ appendedAt }) => appendedAt));
    const [range] = (
      await rangesBetween(options, { topic: TOPIC.verdicts, from, to: undefined })
    ).filter((one) => one.partition === partition);
    if (!range) continue;
    await options.reader.search(
      { topic: TOPIC.verdicts, ...range, limits: VERDICT_LIMITS },
      ({ value }) => {
        for (const verdict of value === null ? [] : verdictRecordCodec.decode(value).verdicts) {
          const one = open.get(`${verdict.offset}/${verdict.index}`);
          if (one) found.set(positionKey(one), verdict.verdict);
        }
        return found.size === wanted.length ? 'found' : undefined;
      },
    );
  }
  return found;
}

function headOf(
  value: Buffer,
):
  | { first_offset: number; first_index: number; last_offset: number; last_index: number }
  | undefined {
  try {
    return sliceRowBatch(value)?.head ?? rowBatchCodec.decode(value);
  } catch (error) {
    if (isUnknownSchema(error)) throw error;
    return undefined;
  }
}

function compare(
  a: { offset: number; index: number },
  b: { offset: number; index: number },
): number {
  return a.offset - b.offset || a.index - b.index;
}

/** Offsets of each partition between two append times; `to` undefined: up to the end. */
export async function rangesBetween(
  { admin }: Pick<LogSearch, 'admin'>,
  times: { topic: string; from: number; to: number | undefined },
): Promise<{ partition: number; from: number; to: number }[]> {
  const ends = await topicEnds(admin, times.topic);
  const starts = await offsetsAt(admin, times.topic, times.from);
  const stops = times.to === undefined ? undefined : await offsetsAt(admin, times.topic, times.to);
  return ends.map(({ partition, low, high }) => ({
    partition,
    from: Math.max(low, starts.get(partition) ?? high),
    to: stops?.get(partition) ?? high,
  }));
}
