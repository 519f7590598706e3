import { eventRowCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;
const NAMES = [
  'Product Viewed',
  'Product Added',
  'Checkout Started',
  'Order Completed',
  'Page Viewed',
  'خرید',
];
const AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36';

/**
 * A row as a shop's traffic makes it: about 450 bytes of Avro. The same number gives the same row.
 */
export function sampleRow(options: {
  partition: number;
  offset: number;
  index: number;
  now: number;
}): EventRow {
  const { partition, offset, index, now } = options;
  const n = offset * 1000 + index;
  return {
    ...EMPTY,
    _partition: partition,
    _offset: offset,
    _index: index,
    _acceptance: (n * 2_654_435_761) % 2 ** 32,
    account_id: 1,
    app_id: 1,
    type: 'track',
    event: NAMES[n % NAMES.length] ?? '',
    user_id: `user-${(n * 7919) % 50_000}`,
    anonymous_id: `0b8e1f4c-7d0e-4c7e-8f4e-${String(n % 1e12).padStart(12, '0')}`,
    message_id: `${partition}-${offset}-${index}`,
    timestamp: now - (n % 3_600_000),
    received_at: now,
    properties: { sku: `SKU-${n % 500}`, category: 'کتاب', path: `/products/${n % 500}` },
    property_numbers: { price: (n % 1000) / 4, quantity: n % 5 },
    revenue: n % 7,
    currency: 'IRR',
    source: 'sdk',
    ip: `10.0.${n % 250}.${(n >> 8) % 250}`,
    user_agent: AGENT,
    browser_name: 'Chrome',
    browser_version: '126.0',
    library_name: 'ravand-js',
    library_version: '1.2.3',
    os_name: 'Linux',
    device_type: 'desktop',
    page_url: `https://shop.example/products/${n % 500}`,
    page_path: `/products/${n % 500}`,
    locale: 'fa-IR',
    timezone: 'Asia/Tehran',
  };
}
