import type { Admin } from 'kafkajs';
import { isJsonObject } from '../../events/json.ts';
import { decodeRecord } from '../../events/raw/decode-record.ts';
import { verdictRecordCodec } from '../../schemas/codec.ts';
import type { LogPosition } from '../../schemas/log-position.ts';
import type { VerdictKind } from '../../schemas/records.ts';
import { sliceRowBatch } from '../../schemas/row-batch.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import { timeText } from '../../cli/format.ts';
import { placeKey, type RawSearch, type RawSighting } from './evidence.ts';
import { TOPIC } from '../../schemas/topology.ts';

interface Searching {
  admin: Admin;
  reader: RangeReader;
  epoch: number;
}

interface Wanted {
  messageId: string;
  accountId: number;
}

/** Bounds of one search of a partition: it answers within seconds whatever the log holds. */
const RAW = { records: 200_000, ms: 6000 };
const RUNS = { records: 20_000, ms: 4000 };
const VERDICTS = { records: 50_000, ms: 4000 };

/**
 * Every place of the message in events.raw between two times, ms since the epoch; of one partition,
 * or of all.
 */
export async function searchRaw(
  options: Searching & {
    wanted: Wanted;
    from: number;
    to: number | undefined;
    partition: number | undefined;
  },
): Promise<RawSearch> {
  const { from, to, partition: only } = options;
  const bounds = (await boundsOf(options, { topic: TOPIC.raw, from, to })).filter(
    ({ partition }) => only === undefined || partition === only,
  );
  const found: RawSighting[] = [];
  let complete = true;
  for (const bound of bounds) {
    const read = await options.reader.search(
      { topic: TOPIC.raw, ...bound, limits: RAW },
      (record) => {
        found.push(...sightings(record, options));
        return undefined;
      },
    );
    if (read.ended === 'limit') complete = false;
  }
  const where = only === undefined ? TOPIC.raw : `events.raw ${only}`;
  return {
    found,
    searched: `${where} ${to === undefined ? `since ${timeText(from)}` : `${timeText(from)} to ${timeText(to)}`}`,
    complete,
  };
}

/** The record at a place, when the log still keeps it and the message is in it. */
export async function readPlace(
  options: Searching & { wanted: Wanted },
  place: LogPosition,
): Promise<RawSighting[]> {
  const found: RawSighting[] = [];
  const { partition, offset } = place;
  await options.reader.search(
    {
      topic: TOPIC.raw,
      partition,
      from: offset,
      to: offset + 1,
      limits: { records: 1, ms: 6000 },
    },
    (record) => {
      if (record.offset === offset) found.push(...sightings(record, options));
      return 'found';
    },
  );
  return found;
}

function sightings(
  record: ConsumedMessage,
  { wanted, epoch }: { wanted: Wanted; epoch: number },
): RawSighting[] {
  // Most records are told apart by their bytes alone.
  if (record.value === null || !record.value.includes(wanted.messageId)) return [];
  const reading = decodeRecord(record);
  if (reading.state !== 'decoded' || reading.record.account_id !== wanted.accountId) return [];
  const {
    received_at: receivedAt,
    path,
    source,
    trace,
    gateway,
    items,
    redriven_from: from,
  } = reading.record;
  return items.flatMap((item, index): RawSighting[] => {
    if (item.message_id !== wanted.messageId) return [];
    const { partition, offset, timestamp: appendedAt } = record;
    const { generated, timestamp } = item;
    const facts = {
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
      { epoch, partition, offset, index, ...facts, name: nameOf(reading.envelopes[item.at]) },
    ];
  });
}

function nameOf(envelope: unknown): string | undefined {
  if (!isJsonObject(envelope)) return undefined;
  for (const name of [envelope['user_id'], envelope['anonymous_id']]) {
    if (typeof name === 'string' && name !== '') return name;
    if (typeof name === 'number') return String(name);
  }
  return undefined;
}

/**
 * Offset of the run in events.normalised that holds a place; undefined when none does that is still
 * kept. `appendedAt` of the raw record, ms.
 */
export async function findRun(
  options: Searching,
  sighting: LogPosition & { appendedAt: number },
): Promise<number | undefined> {
  const [bound] = (
    await boundsOf(options, {
      topic: TOPIC.normalised,
      from: sighting.appendedAt,
      to: undefined,
    })
  ).filter(({ partition }) => partition === sighting.partition);
  let at: number | undefined;
  if (!bound) return undefined;
  await options.reader.search(
    { topic: TOPIC.normalised, ...bound, limits: RUNS },
    ({ offset, value }) => {
      const head = value === null ? undefined : headOf(value);
      if (!head) return undefined;
      if (compare({ offset: head.last_offset, index: head.last_index }, sighting) < 0)
        return undefined;
      if (compare({ offset: head.first_offset, index: head.first_index }, sighting) <= 0)
        at = offset;
      return 'found';
    },
  );
  return at;
}

/** What the normaliser decided about raw places besides making rows of them. */
export async function findVerdicts(
  options: Searching,
  sought: readonly RawSighting[],
): Promise<Map<string, VerdictKind>> {
  const found = new Map<string, VerdictKind>();
  for (const [partition, some] of Map.groupBy(sought, (one) => one.partition)) {
    const open = new Map(some.map((one) => [`${one.offset}/${one.index}`, one]));
    const from = Math.min(...some.map(({ appendedAt }) => appendedAt));
    const [bound] = (
      await boundsOf(options, { topic: TOPIC.verdicts, from, to: undefined })
    ).filter((one) => one.partition === partition);
    if (!bound) continue;
    await options.reader.search(
      { topic: TOPIC.verdicts, ...bound, limits: VERDICTS },
      ({ value }) => {
        for (const verdict of value === null ? [] : verdictRecordCodec.decode(value).verdicts) {
          const one = open.get(`${verdict.offset}/${verdict.index}`);
          if (one) found.set(placeKey(one), verdict.verdict);
        }
        return found.size === sought.length ? 'found' : undefined;
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
    return sliceRowBatch(value)?.head;
  } catch {
    return undefined;
  }
}

function compare(
  a: { offset: number; index: number },
  b: { offset: number; index: number },
): number {
  return a.offset - b.offset || a.index - b.index;
}

/** Offsets of each partition between two append times; `to` undefined: to the end. */
async function boundsOf(
  { admin }: Searching,
  span: { topic: string; from: number; to: number | undefined },
): Promise<{ partition: number; from: number; to: number }[]> {
  const ends = await admin.fetchTopicOffsets(span.topic);
  const at = async (time: number) =>
    new Map(
      (await admin.fetchTopicOffsetsByTimestamp(span.topic, time)).map(({ partition, offset }) => [
        partition,
        Number(offset),
      ]),
    );
  const [starts, stops] = [
    await at(span.from),
    span.to === undefined ? undefined : await at(span.to),
  ];
  return ends.map(({ partition, low, high }) => {
    const offset = (offsets: ReadonlyMap<number, number> | undefined) => {
      const found = offsets?.get(partition) ?? -1;
      return found < 0 ? Number(high) : found;
    };
    return { partition, from: Math.max(Number(low), offset(starts)), to: offset(stops) };
  });
}
