import { expect, it } from 'vitest';
import type { Merges } from '../../audiences/people-sql.ts';
import { compileFunnel } from './funnel/compile.ts';
import { parseFunnel } from './funnel/request.ts';
import { planningOf } from './planning.ts';

function planned(names: readonly string[], merges: Merges) {
  const steps = names.map((event) => ({ event }));
  const parsed = parseFunnel({ steps, from: '2026-01-01', to: '2026-02-01' });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return planningOf(compileFunnel({ request: parsed.request, accountId: 1, merges }).sql);
}
const isMerging = (names: readonly string[], merges: Merges) =>
  planned(names, merges)['query_plan_merge_expressions'] !== 0;

it('levels are merged where aliases are joined, but never those of a fold over simultaneous events', () => {
  expect(isMerging(['a', 'b'], 'none')).toBe(false);
  expect(isMerging(['a', 'b'], 'table')).toBe(true);
  // planning this one took more than thirty seconds
  expect(isMerging(['a', 'b', 'c', 'a', 'b'], 'table')).toBe(false);
  expect(planned(['a', 'b', 'c', 'a', 'b'], 'table')['enable_join_runtime_filters']).toBe(0);
  expect(planned(['a', 'b'], 'table')['enable_join_runtime_filters']).toBeUndefined();
});

it('threads take people in shares, but not the values of a breakdown', () => {
  expect(planned(['a', 'b'], 'none').enable_sharding_aggregator).toBe(1);
  const parsed = parseFunnel({
    ...{ steps: [{ event: 'a' }, { event: 'b' }], from: '2026-01-01', to: '2026-02-01' },
    breakdown: { property: 'p' },
  });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  const { sql } = compileFunnel({ request: parsed.request, accountId: 1, merges: 'none' });
  expect(planningOf(sql).enable_sharding_aggregator).toBeUndefined();
});

it('aliases stay the smaller side of their join, and the join of traits is chosen', () => {
  expect(planned(['a', 'b'], 'table')['query_plan_join_swap_table']).toBe('false');
  expect(planned(['a', 'b'], 'none')['query_plan_join_swap_table']).toBeUndefined();
  const parsed = parseFunnel({
    ...{ steps: [{ event: 'a' }, { event: 'b' }], from: '2026-01-01', to: '2026-02-01' },
    breakdown: { trait: 'tier' },
  });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  const { sql } = compileFunnel({ request: parsed.request, accountId: 1, merges: 'table' });
  expect(planningOf(sql)['query_plan_join_swap_table']).toBeUndefined();
});
