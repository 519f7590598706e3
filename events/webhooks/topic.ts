import type { WebhookSource } from './sources.ts';

/** Header values by lower-case name, as node:http provides them. */
export type DeliveryHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A header's value, trimmed; empty when absent. The first one of repeated headers. */
export function headerOf(headers: DeliveryHeaders, name: string): string {
  const value = headers[name];
  return (typeof value === 'string' ? value : (value?.[0] ?? '')).trim();
}

/**
 * For sources without a topic header: what `./ravand admin webhook try --header` sends. Their real
 * deliveries are refused before the topic matters.
 */
const ANY_TOPIC = /(?:^|-)topic$/;

function anyTopic(headers: DeliveryHeaders): string {
  const name = Object.keys(headers).find((one) => ANY_TOPIC.test(one));
  return name === undefined ? '' : headerOf(headers, name);
}

function pluginTopic(headers: DeliveryHeaders): string {
  const topic = headerOf(headers, 'x-plugin-webhook-topic');
  if (topic !== '') return topic;
  return `${headerOf(headers, 'x-plugin-webhook-resource')}.${headerOf(headers, 'x-plugin-webhook-event') || 'updated'}`;
}

/**
 * The topic of a delivery (ingest 4.6, column "Topic header") in lower case; empty when unknown.
 */
export function topicOf(source: WebhookSource, headers: DeliveryHeaders): string {
  switch (source) {
    case 'hosted_storefront':
      return headerOf(headers, 'x-storefront-topic').toLowerCase();
    case 'plugin_storefront':
      return pluginTopic(headers).toLowerCase();
    case 'event_pipeline':
      return '';
    case 'retail_marketplace':
    case 'handmade_marketplace':
    case 'price_comparison':
    case 'payment_gateway':
      return anyTopic(headers).toLowerCase();
  }
}
