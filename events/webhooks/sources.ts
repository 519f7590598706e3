/** The seven platforms that deliver webhooks (ingest 4.6), with their display names. */
export const WEBHOOK_SOURCE_LABELS = {
  retail_marketplace: 'Retail marketplace',
  handmade_marketplace: 'Handmade marketplace',
  price_comparison: 'Price comparison',
  payment_gateway: 'Payment gateway',
  hosted_storefront: 'Hosted storefront',
  plugin_storefront: 'Plugin storefront',
  event_pipeline: 'Event pipeline',
} as const;

export type WebhookSource = keyof typeof WEBHOOK_SOURCE_LABELS;

export const WEBHOOK_SOURCES = Object.keys(WEBHOOK_SOURCE_LABELS) as readonly WebhookSource[];

/** True for one of the seven; case-sensitive. */
export function isWebhookSource(text: string): text is WebhookSource {
  return Object.hasOwn(WEBHOOK_SOURCE_LABELS, text);
}

/** The sealing purpose of a connection's secret (platform/sealing.ts). */
export function connectionPurpose(connection: {
  accountId: number;
  source: WebhookSource;
}): string {
  return `integration:${connection.accountId}:${connection.source}`;
}
