import type { EventRow } from '../../schemas/records.ts';

/**
 * How a stored column compares: as text (empty is absent), as an id (zero is absent; its digits are
 * its text), as a number (never absent, has no text) or as a flag.
 */
export type FieldKind = 'text' | 'persian' | 'id' | 'number' | 'flag';

/**
 * The columns of an event that a report may filter and break down by: `field` (reports: Shared by
 * both reports). `persian` text is normalised at ingestion (ingest 2.3).
 */
export const EVENT_FIELDS = {
  type: 'text',
  event: 'persian',
  user_id: 'text',
  anonymous_id: 'text',
  previous_id: 'text',
  message_id: 'text',
  app_id: 'id',
  revenue: 'number',
  currency: 'text',
  source: 'text',
  ip: 'text',
  user_agent: 'text',
  is_bot: 'flag',
  browser_name: 'text',
  browser_version: 'text',
  library_name: 'text',
  library_version: 'text',
  app_version: 'text',
  device_type: 'text',
  device_model: 'text',
  device_vendor: 'text',
  push_provider: 'text',
  os_name: 'text',
  os_version: 'text',
  carrier: 'text',
  page_url: 'text',
  page_path: 'text',
  page_referrer: 'text',
  page_title: 'persian',
  utm_source: 'text',
  utm_medium: 'text',
  utm_campaign: 'text',
  utm_term: 'text',
  utm_content: 'text',
  campaign_id: 'id',
  journey_id: 'id',
  variant_id: 'text',
  source_message_id: 'text',
  sg_t: 'text',
  locale: 'text',
  timezone: 'text',
  session_id: 'text',
  country: 'persian',
  region: 'persian',
  city: 'persian',
} as const satisfies { readonly [Column in keyof EventRow]?: FieldKind };

export type EventField = keyof typeof EVENT_FIELDS;

export function isEventField(name: string): name is EventField {
  return Object.hasOwn(EVENT_FIELDS, name);
}
