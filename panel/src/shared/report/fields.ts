import type { EventField } from '../../../../audiences/conditions/event-fields.ts';

/** Stored columns that reports are asked about, most useful first; the others can be typed. */
export const FIELDS: readonly EventField[] = [
  ...([
    'page_path',
    'page_url',
    'page_title',
    'page_referrer',
    'utm_source',
    'utm_medium',
  ] as const),
  ...(['utm_campaign', 'utm_term', 'utm_content', 'device_type', 'os_name', 'os_version'] as const),
  ...(['browser_name', 'browser_version', 'app_version', 'device_model', 'device_vendor'] as const),
  ...(['country', 'region', 'city', 'locale', 'timezone', 'carrier', 'source', 'type'] as const),
  ...(['app_id', 'campaign_id', 'variant_id', 'library_name', 'library_version'] as const),
  ...(['currency', 'revenue', 'user_id', 'anonymous_id', 'message_id', 'session_id'] as const),
];
