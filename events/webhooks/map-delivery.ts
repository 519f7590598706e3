import { mapEventPipeline } from './event-pipeline.ts';
import type { DeliveryHeaders } from './topic.ts';
import { mapHostedStorefront } from './hosted-storefront.ts';
import { skip, type Mapping, type SourceMapping } from './mapping.ts';
import { mapPaymentGateway } from './payment-gateway.ts';
import { mapPluginStorefront } from './plugin-storefront.ts';
import { mapPriceComparison } from './price-comparison.ts';
import { readDelivery } from './read-body.ts';
import { mapHandmadeMarketplace, mapRetailMarketplace } from './marketplaces.ts';
import type { WebhookSource } from './sources.ts';

const MAPPINGS: Record<WebhookSource, SourceMapping> = {
  retail_marketplace: mapRetailMarketplace,
  handmade_marketplace: mapHandmadeMarketplace,
  price_comparison: mapPriceComparison,
  payment_gateway: mapPaymentGateway,
  hosted_storefront: mapHostedStorefront,
  plugin_storefront: mapPluginStorefront,
  event_pipeline: mapEventPipeline,
};

/** Maps any delivery to events (ingest 4.6) or skips it with a reason. Never throws. */
export function mapDelivery(delivery: {
  source: WebhookSource;
  headers: DeliveryHeaders;
  raw: Uint8Array;
}): Mapping {
  const { source, headers, raw } = delivery;
  // Long integers are ids, except among the properties of the event pipeline.
  const body = readDelivery(raw, { keepIds: source !== 'event_pipeline' });
  return body ? MAPPINGS[source](body, headers) : skip('the body is not a JSON object');
}
