import type { WebhookSource } from '../../events/webhooks/sources.ts';

/** Display names of the sources, for people who read the panel (ingest 2.8, source_label). */
export const SOURCE_LABELS: Readonly<Record<WebhookSource, string>> = {
  retail_marketplace: 'بازارگاه خرده‌فروشی',
  handmade_marketplace: 'بازارگاه صنایع دستی',
  price_comparison: 'موتور مقایسهٔ قیمت',
  payment_gateway: 'درگاه پرداخت',
  hosted_storefront: 'فروشگاه‌ساز میزبانی‌شده',
  plugin_storefront: 'افزونهٔ فروشگاهی',
  event_pipeline: 'خط لولهٔ رویداد',
};
