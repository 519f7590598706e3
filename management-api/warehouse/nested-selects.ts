/**
 * Computes columns in order, each list over the results of those before it. One SELECT a list:
 * inside one SELECT ClickHouse writes an alias out at every use, and a chain of aliases that are
 * used twice each grows beyond its bounds.
 */
export function nestedSelects(source: string, lists: readonly (readonly string[])[]): string {
  return lists
    .filter((list) => list.length > 0)
    .reduce((inner, list) => `SELECT *, ${list.join(', ')} FROM (${inner})`, source);
}
