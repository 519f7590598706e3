/**
 * A name as PostgreSQL stores it: a text cannot hold NUL, so it is escaped with a backslash, as is
 * every backslash.
 */
export function escapeText(name: string): string {
  return /[\\\0]/.test(name) ? name.replaceAll('\\', '\\\\').replaceAll('\0', '\\0') : name;
}

/** The name that textOf wrote. */
export function unescapeText(text: string): string {
  return text.includes('\\')
    ? text.replace(/\\(.)/g, (_, escaped: string) => (escaped === '0' ? '\0' : escaped))
    : text;
}
