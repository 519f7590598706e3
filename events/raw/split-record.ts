import type { RawRecord } from '../../schemas/records.ts';
import { distinctIdOf, idText } from '../event-name.ts';
import { isJsonObject } from '../json.ts';
import { accountSeed, distinctIdHash } from '../partition.ts';
import { wholeRecord, type DecodedRecord } from './decode-record.ts';

/**
 * `origin` of a record that the normaliser forwarded to the partition of its people: its events
 * were published before, in another partition. Nothing reads the header of that name.
 */
const FORWARDED = 'ravand:forwarded';

export function isForwarded({ origin }: Pick<RawRecord, 'origin'>): boolean {
  return origin === FORWARDED;
}

/** Some items of a raw record, for another partition. */
export interface SplitRecord {
  partition: number;
  record: RawRecord;
}

/** The partition of the person of an item; undefined when the body holds no such event. */
function partitionOfItem(
  { record, envelopes }: DecodedRecord,
  index: number,
  { seed, partitions }: { seed: number; partitions: number },
): number | undefined {
  const envelope = envelopes[record.items[index]?.at ?? -1];
  if (!isJsonObject(envelope)) return undefined;
  const distinctId = distinctIdOf({
    user_id: idText(envelope['user_id']),
    anonymous_id: idText(envelope['anonymous_id']),
  });
  return distinctId === '' ? undefined : distinctIdHash(seed, distinctId) % partitions;
}

/**
 * The indexes of the items whose person belongs to another partition than the record is in;
 * undefined when there is none. By the number of partitions that applies to the record.
 */
export function misplacedItems(
  decoded: DecodedRecord,
  partitions: number,
): ReadonlySet<number> | undefined {
  const { record, source } = decoded;
  const hash = { seed: accountSeed(record.account_id), partitions };
  let misplaced: Set<number> | undefined;
  for (let index = 0; index < record.items.length; index++) {
    const partition = partitionOfItem(decoded, index, hash);
    if (partition !== undefined && partition !== source.partition)
      (misplaced ??= new Set()).add(index);
  }
  return misplaced;
}

/**
 * Records for the right partitions, with the items of `only` or all of them, in order. Item i of a
 * record has the acceptance number sequence + i, so only neighbours share a record.
 */
export function splitRecord(
  decoded: DecodedRecord,
  { partitions, only }: { partitions: number; only?: ReadonlySet<number> | undefined },
): SplitRecord[] {
  const { record, source } = decoded;
  const hash = { seed: accountSeed(record.account_id), partitions };
  const runs: { partition: number; indexes: number[] }[] = [];
  for (let index = 0; index < record.items.length; index++) {
    if (only && !only.has(index)) continue;
    const partition = partitionOfItem(decoded, index, hash) ?? source.partition % partitions;
    const last = runs.at(-1);
    if (last?.partition === partition && last.indexes.at(-1) === index - 1)
      last.indexes.push(index);
    else runs.push({ partition, indexes: [index] });
  }
  return runs.map(({ partition, indexes }) => ({
    partition,
    record: partOf(decoded, indexes, indexes.length === record.items.length),
  }));
}

/** The record as the normaliser forwards it. */
export function forwardedRecord<T extends Pick<RawRecord, 'origin'>>(record: T): T {
  return { ...record, origin: FORWARDED };
}

function partOf(decoded: DecodedRecord, indexes: readonly number[], isWhole: boolean): RawRecord {
  const record = wholeRecord(decoded);
  if (isWhole) return record;
  const { envelopes, batchContext } = decoded;
  const [first = 0] = indexes;
  const items = indexes.flatMap((index) => record.items[index] ?? []);
  const from = record.redriven_from;
  const common = {
    ...record,
    sequence: record.sequence + first,
    redriven_from: from && { ...from, index: from.index + first },
    delivery: first === 0 ? record.delivery : null,
  };
  if (record.shape !== 'batch') return { ...common, items };
  const batch = items.map(({ at }) => envelopes[at]);
  const body = batchContext === undefined ? { batch } : { context: batchContext, batch };
  return {
    ...common,
    body: Buffer.from(JSON.stringify(body)),
    items: items.map((item, at) => ({ ...item, at })),
  };
}
