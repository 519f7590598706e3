/** Header values by lower-case name, as node:http provides them. */
export type DeliveryHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A header's value, trimmed; empty when absent. The first one of repeated headers. */
export function headerOf(headers: DeliveryHeaders, name: string): string {
  const value = headers[name];
  return (typeof value === 'string' ? value : (value?.[0] ?? '')).trim();
}
