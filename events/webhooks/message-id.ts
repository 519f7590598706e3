/**
 * `source:event:…`; empty when a part is absent, empty or 0: no deduplication then (ingest 4.6).
 */
export function messageId(
  source: string,
  event: string,
  ...parts: readonly (string | undefined)[]
): string {
  if (parts.some((part) => part === undefined || part === '' || part === '0')) return '';
  return [source, event, ...parts].join(':');
}
