import type { ClickHouseClient } from '@clickhouse/client';
import type { Merges } from '../../../../audiences/people-sql.ts';
import { planningOf } from '../../planning.ts';
import { daySlices } from '../day-slices.ts';
import { NativeColumns } from '../native-columns.ts';
import { MIN_MEMORY_BYTES, newMemory } from '../event-memory.ts';
import { EventPartitions } from '../event-partitions.ts';
import { valuesOfRanks } from '../order-statistics.ts';
import { count } from '../thread-jobs.ts';
import type { ManyEvents } from '../many-events.ts';

export interface ManyRow {
  /** UInt64. */
  person: bigint;
  /** Less than 2^52. */
  key: number;
}

/** A block of ClickHouse's Native format with these rows. */
export function nativeBlock(rows: readonly ManyRow[]): Buffer {
  const people = Buffer.from(BigUint64Array.from(rows, ({ person }) => person).buffer);
  const keys = Buffer.from(BigUint64Array.from(rows, ({ key }) => BigInt(key)).buffer);
  return Buffer.concat([
    Buffer.from([2]),
    varint(rows.length),
    ...[text('person'), text('UInt64'), people],
    ...[text('key'), text('UInt64'), keys],
  ]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

function text(value: string): Buffer {
  return Buffer.concat([varint(value.length), Buffer.from(value)]);
}

/** The rows of a report from the results of its slices, each in pieces of any size. */
export function countHere(many: ManyEvents, results: readonly (readonly Buffer[])[]): unknown[] {
  const memory = newMemory(MIN_MEMORY_BYTES);
  const reads = results.map((pieces) => {
    const partitions = new EventPartitions(memory);
    const columns = new NativeColumns((people, keys, rows) => partitions.add(people, keys, rows));
    for (const piece of pieces) columns.read(piece);
    columns.end();
    return partitions.events;
  });
  const { counts, lists } = count({
    ...{ memory, reads, counting: many.counting },
    turn: new SharedArrayBuffer(4),
  });
  const values = many
    .rankings({ counts })
    .map(({ list, ...rest }) => valuesOfRanks({ lists: lists.slice(list, list + 1), ...rest }));
  return many.rows({ counts }, values);
}

/** As countHere(), of what ClickHouse answers for so many slices. */
export async function countStored(
  client: ClickHouseClient,
  { many, merges, slices = 2 }: { many: ManyEvents; merges: Merges; slices?: number },
): Promise<unknown[]> {
  const results = daySlices(many.times, slices).map(async (days): Promise<Buffer[]> => {
    const { sql, params } = many.compile(merges, days);
    const { stream } = await client.exec({
      query: `${sql} FORMAT Native`,
      query_params: params,
      clickhouse_settings: planningOf(sql),
    });
    return (await stream.toArray()) as Buffer[];
  });
  return countHere(many, await Promise.all(results));
}
