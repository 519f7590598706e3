import { truncateBytes } from './bytes.ts';
import { jsonObject, type JsonObject } from './json.ts';
import { normalisePersian } from './persian.ts';
import type { EventRow } from '../schemas/records.ts';
import { NO_USER_AGENT, type UserAgentFacts } from './user-agent.ts';

/** Columns from `context` and from the connection (ingest 2.2). */
export type ContextColumns = Pick<
  EventRow,
  | (
      | 'ip'
      | 'user_agent'
      | 'is_bot'
      | 'browser_name'
      | 'browser_version'
      | 'library_name'
      | 'library_version'
    )
  | (
      | 'app_version'
      | 'device_type'
      | 'device_model'
      | 'device_vendor'
      | 'push_provider'
      | 'os_name'
      | 'os_version'
      | 'carrier'
    )
  | ('page_url' | 'page_path' | 'page_referrer' | 'page_title')
  | ('utm_source' | 'utm_medium' | 'utm_campaign' | 'utm_term' | 'utm_content')
  | ('campaign_id' | 'journey_id' | 'variant_id' | 'source_message_id' | 'sg_t')
  | ('locale' | 'timezone' | 'session_id' | 'country' | 'region' | 'city')
>;

export const MAX_IP_BYTES = 64;

/** What the connection of a request says about a person. */
export interface Connection {
  /** Empty when it is unknown or belongs to a backend. */
  ip: string;
  agent: UserAgentFacts;
}

const EMPTY: JsonObject = {};

/** A text field, cut to `bound` bytes. Numbers become text; other types count as absent. */
function field(part: JsonObject, key: string, bound: number): string {
  const value = part[key];
  if (typeof value === 'string') return value === '' ? '' : truncateBytes(value, bound);
  return typeof value === 'number' && Number.isFinite(value)
    ? truncateBytes(String(value), bound)
    : '';
}

/** A Persian-normalised text field: title and place names. */
function persianField(part: JsonObject, key: string, bound: number): string {
  const value = part[key];
  return typeof value === 'string' ? normalisePersian(value, bound) : field(part, key, bound);
}

/** An id from 1 to 2^53 - 1, as number or digits (links carry digits); otherwise 0: absent. */
function idField(part: JsonObject, key: string): number {
  const value = part[key];
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  return typeof id === 'number' && Number.isSafeInteger(id) && id > 0 ? id : 0;
}

/**
 * The columns of ingest 2.2. Values from the SDK take precedence; the User-Agent fills gaps. Its OS
 * version is used only for the same OS, its model only without another vendor, so that two devices
 * are never mixed.
 */
export function contextColumns(sent: unknown, connection: Connection): ContextColumns {
  const context = jsonObject(sent) ?? EMPTY;
  const device = jsonObject(context['device']) ?? EMPTY;
  const os = jsonObject(context['os']) ?? EMPTY;
  const page = jsonObject(context['page']) ?? EMPTY;
  const campaign = jsonObject(context['campaign']) ?? EMPTY;
  const location = jsonObject(context['location']) ?? EMPTY;
  const library = jsonObject(context['library']) ?? EMPTY;
  const { agent } = connection;
  const osName = typeof os['name'] === 'string' ? truncateBytes(os['name'].toLowerCase(), 32) : '';
  const osVersion = field(os, 'version', 32);
  const vendor = field(device, 'manufacturer', 64);
  const isSameOs = osName === '' || osName === agent.osName;
  const isSameVendor = vendor === '' || vendor.toLowerCase() === agent.deviceVendor.toLowerCase();
  return {
    ip: truncateBytes(connection.ip, MAX_IP_BYTES) || field(context, 'ip', MAX_IP_BYTES),
    user_agent: agent.userAgent,
    is_bot: agent.isBot,
    browser_name: agent.browserName,
    browser_version: agent.browserVersion,
    library_name: field(library, 'name', 64),
    library_version: field(library, 'version', 32),
    app_version: field(jsonObject(context['app']) ?? EMPTY, 'version', 64),
    device_type: field(device, 'type', 32) || agent.deviceType,
    device_model: field(device, 'model', 128) || (isSameVendor ? agent.deviceModel : ''),
    device_vendor: vendor || agent.deviceVendor,
    push_provider: field(device, 'push_provider', 16),
    os_name: osName || agent.osName,
    os_version: osVersion || (isSameOs ? agent.osVersion : ''),
    carrier: field(jsonObject(context['network']) ?? EMPTY, 'carrier', 64),
    page_url: field(page, 'url', 2048),
    page_path: field(page, 'path', 2048),
    page_referrer: field(page, 'referrer', 2048),
    page_title: persianField(page, 'title', 512),
    utm_source: field(campaign, 'source', 128),
    utm_medium: field(campaign, 'medium', 128),
    utm_campaign: field(campaign, 'name', 128),
    utm_term: field(campaign, 'term', 128),
    utm_content: field(campaign, 'content', 128),
    campaign_id: idField(campaign, 'campaign_id'),
    journey_id: idField(campaign, 'journey_id'),
    variant_id: field(campaign, 'variant_id', 64),
    source_message_id: field(campaign, 'message_id', 256),
    sg_t: field(campaign, 'token', 128),
    locale: field(context, 'locale', 32),
    timezone: field(context, 'timezone', 64),
    session_id: field(context, 'session_id', 256),
    country: persianField(location, 'country', 64),
    region: persianField(location, 'region', 64),
    city: persianField(location, 'city', 64),
  };
}

/** Where the columns come from that a context alone decides; the part is empty for its own keys. */
export const CONTEXT_PATHS: readonly (readonly [
  column: keyof ContextColumns,
  part: string,
  key: string,
])[] = [
  ['library_name', 'library', 'name'],
  ['library_version', 'library', 'version'],
  ['app_version', 'app', 'version'],
  ['device_type', 'device', 'type'],
  ['device_model', 'device', 'model'],
  ['device_vendor', 'device', 'manufacturer'],
  ['push_provider', 'device', 'push_provider'],
  ['os_name', 'os', 'name'],
  ['os_version', 'os', 'version'],
  ['carrier', 'network', 'carrier'],
  ['page_url', 'page', 'url'],
  ['page_path', 'page', 'path'],
  ['page_referrer', 'page', 'referrer'],
  ['page_title', 'page', 'title'],
  ['utm_source', 'campaign', 'source'],
  ['utm_medium', 'campaign', 'medium'],
  ['utm_campaign', 'campaign', 'name'],
  ['utm_term', 'campaign', 'term'],
  ['utm_content', 'campaign', 'content'],
  ['campaign_id', 'campaign', 'campaign_id'],
  ['journey_id', 'campaign', 'journey_id'],
  ['variant_id', 'campaign', 'variant_id'],
  ['source_message_id', 'campaign', 'message_id'],
  ['sg_t', 'campaign', 'token'],
  ['country', 'location', 'country'],
  ['region', 'location', 'region'],
  ['city', 'location', 'city'],
  ['ip', '', 'ip'],
  ['locale', '', 'locale'],
  ['timezone', '', 'timezone'],
  ['session_id', '', 'session_id'],
];

/**
 * A context with nothing but what the columns hold: contextColumns makes the same columns of it,
 * whatever the connection, and it takes at most about 11 KB.
 */
export function reduceContext(sent: unknown): JsonObject {
  const columns = contextColumns(sent, { ip: '', agent: NO_USER_AGENT });
  const reduced: JsonObject = {};
  for (const [column, part, key] of CONTEXT_PATHS) {
    const value = columns[column];
    if (value === '' || value === 0) continue;
    if (part === '') reduced[key] = value;
    else ((reduced[part] ??= {}) as JsonObject)[key] = value;
  }
  return reduced;
}

/** `name/version` of the SDK for the quality report; the name alone, or empty when unknown. */
export function sdkOf(sent: unknown): string {
  const library = jsonObject(jsonObject(sent)?.['library']) ?? EMPTY;
  const name = field(library, 'name', 64);
  const version = field(library, 'version', 32);
  return version === '' ? name : `${name}/${version}`;
}
