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

/**
 * The key of the four sources without a signature header: order, payment or click id, else the
 * user.
 */
export function marketKey(ids: {
  orderId?: string;
  refId?: string;
  clickId?: string;
  userId: string;
}): string {
  return ids.orderId || ids.refId || ids.clickId || ids.userId;
}
