/** Keywords that may appear where a metric could. */
const KEYWORDS = new Set([
  'and',
  'or',
  'unless',
  'bool',
  'offset',
  'inf',
  'nan',
  'start',
  'end',
  'atan2',
]);
/** These are followed by label names, in parentheses. */
const GROUPINGS = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g;

/**
 * Names of the metrics that a PromQL expression reads, each once. Only what can appear outside of
 * strings, label matchers, ranges and groupings can be a metric; what is followed by a parenthesis
 * is a function or an aggregation.
 */
export function metricsIn(expression: string): string[] {
  const bare = expression
    .replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`/g, '""')
    .replace(/\{[^}]*\}/g, ' ')
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(GROUPINGS, ' ')
    .replace(/\b(?:group_left|group_right)\b/g, ' ');
  const names = new Set<string>();
  for (const { 0: name, index } of bare.matchAll(/(?<![\w:.])[a-zA-Z_:][\w:]*/g)) {
    if (KEYWORDS.has(name.toLowerCase()) || /^\s*\(/.test(bare.slice(index + name.length)))
      continue;
    names.add(name);
  }
  return [...names];
}
