import type { LogPosition } from '../schemas/log-position.ts';
import type { EventRow, AcceptedItem, RawRecord } from '../schemas/records.ts';
import { contextColumns, type Connection, type ContextColumns } from './context.ts';
import { isOpenedByMachine } from './channels/open-event.ts';
import { jsonObject, type JsonObject } from './json.ts';
import { eventNameOf, idText } from './event-name.ts';
import { normaliseProperties } from './properties.ts';
import { extractCurrency, extractRevenue } from './revenue.ts';
import { normaliseTraits } from './traits.ts';
import { NO_USER_AGENT, type UserAgentCache } from './user-agent.ts';

/** What a raw record says about all its events. */
export type RecordFacts = Pick<
  RawRecord,
  'account_id' | 'app_id' | 'received_at' | 'source' | 'ip' | 'user_agent' | 'trace'
>;
/** What it says about the connection of its request. */
type ConnectionFacts = Pick<RecordFacts, 'source' | 'ip' | 'user_agent'>;
/** What the gateway decided about one event. */
export type ItemFacts = Pick<AcceptedItem, 'type' | 'message_id' | 'dedupe_id' | 'timestamp'>;

export interface NormaliseInput {
  record: RecordFacts;
  item: ItemFacts;
  /** The event as sent. Fields of a wrong JSON type count as absent: the gateway accepts none. */
  envelope: JsonObject;
  /** `context` of the batch; an event without its own inherits it (ingest 2.1 rule 4). */
  batchContext: unknown;
  position: LogPosition;
  /** The acceptance id: `_acceptance` in event-row. */
  acceptance: number;
}

/** Caches the last context's columns: items of a batch often share context and connection. */
export class ContextReader {
  readonly #agents: UserAgentCache;
  #context: unknown;
  #record: RecordFacts | undefined;
  #columns: ContextColumns | undefined;

  constructor(agents: UserAgentCache) {
    this.#agents = agents;
  }

  /** A backend's address and User-Agent are ignored: only SDKs count. */
  connection({ source, ip, user_agent: agent }: ConnectionFacts): Connection {
    return source === 'sdk'
      ? { ip, agent: this.#agents.facts(agent) }
      : { ip: '', agent: NO_USER_AGENT };
  }

  /** The context columns. */
  columns(context: unknown, record: RecordFacts): ContextColumns {
    if (this.#columns !== undefined && context === this.#context && record === this.#record)
      return this.#columns;
    this.#columns = contextColumns(context, this.connection(record));
    this.#context = context;
    this.#record = record;
    return this.#columns;
  }
}

/**
 * Builds the stored row of an accepted event (ingest 2.2, 2.3). Pure: the same input always gives
 * the same row. An identify is stored with empty properties. Traits of every event type go to the
 * profile.
 */
export function normaliseEvent(input: NormaliseInput, reader: ContextReader): EventRow {
  const { record, item, envelope, position } = input;
  const properties = normaliseProperties(
    item.type === 'identify' ? undefined : jsonObject(envelope['properties']),
  );
  const traits = normaliseTraits(jsonObject(envelope['traits']));
  const context = reader.columns(envelope['context'] ?? input.batchContext, record);
  return {
    _epoch: position.epoch,
    _partition: position.partition,
    _offset: position.offset,
    _index: position.index,
    _acceptance: input.acceptance,
    _dedupe_id: item.dedupe_id ?? '',
    account_id: record.account_id,
    app_id: record.app_id,
    type: item.type,
    event: eventNameOf(item.type, envelope['event']),
    user_id: idText(envelope['user_id']),
    anonymous_id: idText(envelope['anonymous_id']),
    previous_id: item.type === 'alias' ? idText(envelope['previous_id']) : '',
    message_id: item.message_id,
    timestamp: item.timestamp,
    received_at: record.received_at,
    properties: properties.text,
    property_numbers: properties.numbers,
    revenue: extractRevenue(properties),
    currency: extractCurrency(properties),
    source: record.source,
    ip: context.ip,
    user_agent: context.user_agent,
    is_bot: context.is_bot || isOpenedByMachine(record.source, properties.text),
    browser_name: context.browser_name,
    browser_version: context.browser_version,
    library_name: context.library_name,
    library_version: context.library_version,
    app_version: context.app_version,
    device_type: context.device_type,
    device_model: context.device_model,
    device_vendor: context.device_vendor,
    push_provider: context.push_provider,
    os_name: context.os_name,
    os_version: context.os_version,
    carrier: context.carrier,
    page_url: context.page_url,
    page_path: context.page_path,
    page_referrer: context.page_referrer,
    page_title: context.page_title,
    utm_source: context.utm_source,
    utm_medium: context.utm_medium,
    utm_campaign: context.utm_campaign,
    utm_term: context.utm_term,
    utm_content: context.utm_content,
    campaign_id: context.campaign_id,
    journey_id: context.journey_id,
    variant_id: context.variant_id,
    source_message_id: context.source_message_id,
    sg_t: context.sg_t,
    locale: context.locale,
    timezone: context.timezone,
    session_id: context.session_id,
    country: context.country,
    region: context.region,
    city: context.city,
    traits: traits.text,
    trait_numbers: traits.numbers,
    profile: traits.columns,
    _trace: record.trace,
  };
}
