import type { ClickHouseClient } from '@clickhouse/client';
import type { Merges } from '../../../../audiences/people-sql.ts';
import { planningOf } from '../../planning.ts';
import { NativeColumns } from '../native-columns.ts';
import { countersOf, sharesOf, smallMemory, summedCounts } from './count-shared.ts';
import type { ManyEvents } from '../many-events.ts';

/**
 * The rows of a report from the results of its slices, each in pieces of any size. There are two
 * counters: each reads every other slice, and counts every other partition.
 */
export function countHere(many: ManyEvents, results: readonly (readonly Buffer[])[]): unknown[] {
  const counters = countersOf(smallMemory());
  for (const [slice, pieces] of results.entries()) {
    const counter = counters[slice % 2];
    const columns = new NativeColumns((people, keys) => counter?.add(slice, people, keys));
    for (const piece of pieces) columns.read(piece);
    columns.end();
  }
  const shares = sharesOf(counters, many.counting);
  const counts = summedCounts(shares);
  const values = many.rankings({ counts }).map(({ list, ...ranks }, at) => {
    const lists = shares.flatMap((share) => share.lists[list] ?? []);
    return counters[at % 2]?.valuesOf(lists, ranks) ?? [];
  });
  return many.rows({ counts }, values);
}

/** As countHere(), of what ClickHouse answers for so many threads. */
export async function countStored(
  client: ClickHouseClient,
  { many, merges, threads = 2 }: { many: ManyEvents; merges: Merges; threads?: number },
): Promise<unknown[]> {
  const statements = many.statements(merges, threads);
  const results = statements.map(async ({ sql, params }): Promise<Buffer[]> => {
    const { stream } = await client.exec({
      query: `${sql} FORMAT Native`,
      query_params: params,
      clickhouse_settings: planningOf(sql),
    });
    return (await stream.toArray()) as Buffer[];
  });
  return countHere(many, await Promise.all(results));
}
