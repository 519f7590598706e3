/** Header values by lower-case name, as node:http gives them. */
export type DeliveryHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A header's value, trimmed; empty when it is absent. Of a repeated one the first counts. */
export function headerOf(headers: DeliveryHeaders, name: string): string {
  const value = headers[name];
  return (typeof value === 'string' ? value : (value?.[0] ?? '')).trim();
}
