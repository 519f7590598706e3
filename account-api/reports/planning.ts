import type { ClickHouseSettings } from '@clickhouse/client';

/**
 * Settings that shorten the planning of a report without changing what it computes. A report has
 * up to fifty levels of SELECT: passes that compare expressions with each other cost more than all
 * rows of a small account (docs/performance.md, Reports). To compare a column, the analyzer hashes
 * all levels below it.
 */
const PLANNING: ClickHouseSettings = {
  optimize_and_compare_chain: 0,
  optimize_extract_common_expressions: 0,
  optimize_if_chain_to_multiif: 0,
  optimize_multiif_to_if: 0,
  optimize_rewrite_aggregate_function_with_if: 0,
  optimize_functions_to_subcolumns: 0,
  compile_expressions: 0,
  optimize_syntax_fuse_functions: 0,
  optimize_truncate_order_by_after_group_by_keys: 0,
  optimize_aggregators_of_group_by_keys: 0,
  optimize_group_by_function_keys: 0,
  optimize_injective_functions_in_group_by: 0,
  optimize_injective_functions_inside_uniq: 0,
  optimize_arithmetic_operations_in_aggregate_functions: 0,
  optimize_redundant_functions_in_order_by: 0,
  optimize_redundant_comparisons: 0,
};

export type Planning = ClickHouseSettings & { enable_sharding_aggregator?: 0 | 1 };

/**
 * Aliases are the smaller side of their join: where ClickHouse takes events for it, whose number it
 * estimates, a report can take nine times as long.
 *
 * The levels are not merged either, unless a join is among them: that one would be slower. But
 * merging the levels of a fold over simultaneous events takes longer than any client waits, and so
 * does the pass that looks for filters of joins at run time.
 *
 * Where rows are grouped by person, each thread takes the rows of its share of the people, so that
 * nobody is a group of two threads that are put together afterwards; a group for each value of a
 * breakdown is too large a share.
 *
 * Where properties are read, whether one is present is read of the names alone, and the value of
 * one without a map of all.
 */
export function planningOf(sql: string): Planning {
  const foldsTies = sql.includes('arrayFold((acc, ');
  const mergesLevels = / JOIN | people /.test(sql) && !foldsTies;
  const isMerged = sql.includes(' AS identities ON ') && !sql.includes(' AS traits ');
  const readsProperties = /\b(properties|property_numbers)\b/.test(sql);
  const isByPerson = / GROUP BY person\b/.test(sql) && !/ GROUP BY value\)/.test(sql);
  return {
    ...PLANNING,
    ...(foldsTies ? { enable_join_runtime_filters: 0 } : {}),
    ...(mergesLevels ? {} : { query_plan_merge_expressions: 0 }),
    ...(isMerged ? { query_plan_join_swap_table: 'false' } : {}),
    ...(isByPerson ? { enable_sharding_aggregator: 1 } : {}),
    ...(readsProperties ? { optimize_functions_to_subcolumns: 1 } : {}),
  };
}
