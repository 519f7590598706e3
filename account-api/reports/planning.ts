import type { ClickHouseSettings } from '@clickhouse/client';

/**
 * Settings that shorten the planning of a report without changing what it computes. A report has
 * up to sixty levels of SELECT: passes that compare expressions with each other cost more than all
 * rows of a small account (docs/performance.md, Reports).
 */
const PLANNING: ClickHouseSettings = {
  optimize_and_compare_chain: 0,
  optimize_extract_common_expressions: 0,
  optimize_if_chain_to_multiif: 0,
  optimize_multiif_to_if: 0,
  optimize_rewrite_aggregate_function_with_if: 0,
  optimize_functions_to_subcolumns: 0,
  compile_expressions: 0,
};

/** The levels are not merged either, unless a join is among them: that one would be slower. */
export function planningOf(sql: string): ClickHouseSettings {
  return / JOIN | people /.test(sql) ? PLANNING : { ...PLANNING, query_plan_merge_expressions: 0 };
}
