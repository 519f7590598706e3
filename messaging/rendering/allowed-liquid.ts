/** Tags of liquidjs that templates may use; `tablerow` writes HTML. */
export const TAGS: ReadonlySet<string> = new Set([
  ...['assign', 'capture', 'case', 'comment', 'cycle', 'decrement', 'echo', 'for', 'if', '#'],
  ...['increment', 'liquid', 'raw', 'tablerow', 'unless', 'break', 'continue'],
]);

/**
 * Filters of liquidjs that templates may use. Left out are those that evaluate text as Liquid (the
 * `_exp` ones), that fail for some values only (decoding), that answer differently each time
 * (`sample`), and that undo or double the escaping of values.
 */
export const FILTERS: ReadonlySet<string> = new Set([
  ...['abs', 'at_least', 'at_most', 'ceil', 'divided_by', 'floor', 'minus', 'modulo', 'plus'],
  ...['round', 'times', 'to_integer'],
  ...['append', 'capitalize', 'downcase', 'lstrip', 'normalize_whitespace', 'prepend', 'remove'],
  ...['remove_first', 'remove_last', 'replace', 'replace_first', 'replace_last', 'rstrip', 'slice'],
  ...['split', 'squish', 'strip', 'strip_html', 'strip_newlines', 'truncate', 'truncatewords'],
  ...['upcase', 'number_of_words', 'slugify'],
  ...['compact', 'concat', 'find', 'first', 'group_by', 'has', 'join', 'last', 'map', 'pop'],
  ...['push', 'reject', 'reverse', 'shift', 'size', 'sort', 'sort_natural', 'sum', 'uniq'],
  ...['unshift', 'where', 'array_to_sentence_string'],
  ...['date', 'date_to_xmlschema', 'default', 'json'],
  // Of engine.ts.
  ...['jalali', 'newline_to_br', 'url_encode'],
]);

const ESCAPED = 'values are escaped where they stand in HTML, and nowhere else: remove the filter';
const ONE_TEXT = 'a template is one text: copy the other one into it';

/** Why something that others know is refused, and what to write. */
export const REFUSED: Readonly<Record<string, string>> = {
  raw: 'values are always escaped in HTML: write the HTML in the template itself',
  escape: ESCAPED,
  escape_once: ESCAPED,
  xml_escape: ESCAPED,
  include: ONE_TEXT,
  render: ONE_TEXT,
  layout: ONE_TEXT,
  block: ONE_TEXT,
  url_decode: 'send the value decoded',
  uri_escape: 'use url_encode for each value',
  cgi_escape: 'use url_encode',
  jsonify: 'use json',
};
