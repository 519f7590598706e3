import { countOrdered } from '../../funnel/many/testing/count-ordered.ts';
import { countFirstTime } from '../../retention/many/testing/count-first-time.ts';
import type { Counting } from '../many-events.ts';
import type { ManyRow } from './many-rows.ts';

/** What threads count of these rows: the counts, and each list in order. */
export function countRows(
  rows: readonly ManyRow[],
  { kind, rules }: Counting,
): { counts: number[][]; lists: number[][] } {
  const people = Map.groupBy(rows, ({ person }) => person);
  const keys = [...people.values()].map((own) => own.map(({ key }) => key));
  const { counts, lists } =
    kind === 'ordered' ? countOrdered(keys, rules) : countFirstTime(keys, rules);
  return { counts, lists: lists.map((list) => list.toSorted((a, b) => a - b)) };
}
