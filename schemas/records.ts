import type { LogPosition } from './log-position.ts';

export type EventType = 'track' | 'identify' | 'page' | 'screen' | 'alias';
export type EventSource = 'sdk' | 'webhook' | 'import' | 'platform';

/** Type of an item whose event was erased: nothing of it is left but its place. */
export const ERASED = 'erased';

interface ItemOf<Type> {
  at: number;
  index: number;
  type: Type;
  message_id: string;
  generated: boolean;
  dedupe_id: string | null;
  timestamp: number;
}

export type AcceptedItem = ItemOf<EventType>;
export type RawItem = AcceptedItem | ItemOf<typeof ERASED>;

/** A webhook delivery as received. */
export interface Delivery {
  source: string;
  topic: string;
  body: Buffer;
}

/** raw-record.v2; the schema documents the fields. */
export interface RawRecord {
  account_id: number;
  app_id: number;
  write_key_id: number;
  received_at: number;
  source: EventSource;
  path: string;
  ip: string;
  user_agent: string;
  origin: string;
  trace: string;
  gateway: string;
  sequence: number;
  shape: 'single' | 'batch';
  body: Buffer;
  items: RawItem[];
  redriven_from: LogPosition | null;
  delivery: Delivery | null;
}

/** raw-batch.v1; the schema documents the fields. */
export interface RawBatch {
  first_index: number;
  records: { items: number; value: Buffer }[];
}

/**
 * event-row.v2: one stored event. Field names are ClickHouse column names; only profiles read
 * traits, trait_numbers and profile. Rows of version 1 have an empty `_trace`.
 */
export interface EventRow {
  _epoch: number;
  _partition: number;
  _offset: number;
  _index: number;
  _acceptance: number;
  _dedupe_id: string;
  account_id: number;
  app_id: number;
  type: string;
  event: string;
  user_id: string;
  anonymous_id: string;
  previous_id: string;
  message_id: string;
  timestamp: number;
  received_at: number;
  properties: Record<string, string>;
  property_numbers: Record<string, number>;
  revenue: number;
  currency: string;
  source: string;
  ip: string;
  user_agent: string;
  is_bot: boolean;
  browser_name: string;
  browser_version: string;
  library_name: string;
  library_version: string;
  app_version: string;
  device_type: string;
  device_model: string;
  device_vendor: string;
  push_provider: string;
  os_name: string;
  os_version: string;
  carrier: string;
  page_url: string;
  page_path: string;
  page_referrer: string;
  page_title: string;
  utm_source: string;
  utm_medium: string;
  utm_campaign: string;
  utm_term: string;
  utm_content: string;
  campaign_id: number;
  journey_id: number;
  variant_id: string;
  source_message_id: string;
  sg_t: string;
  locale: string;
  timezone: string;
  session_id: string;
  country: string;
  region: string;
  city: string;
  traits: Record<string, string>;
  trait_numbers: Record<string, number>;
  profile: Record<string, string>;
  _trace: string;
}

/** normalised-run without its rows. */
export interface RowBatchHead {
  epoch: number;
  partition: number;
  first_offset: number;
  first_index: number;
  last_offset: number;
  last_index: number;
  appended_at: number;
}

export interface RowBatch extends RowBatchHead {
  rows: EventRow[];
}

/** dead-letter.v1 */
export interface DeadLetter {
  stage: string;
  reason: string;
  detail: string;
  fingerprint: string;
  topic: string;
  partition: number;
  offset: number;
  index: number | null;
  /** Several failed items of one record, ascending; `index` is the first. Empty: `index` alone. */
  indexes: number[];
  events: number;
  account_id: number | null;
  message_id: string;
  failed_at: number;
  appended_at: number;
  key: Buffer | null;
  value: Buffer;
}

export interface OutcomeCount {
  kind: 'reject' | 'warn';
  code: string;
  field: string;
  sdk: string;
  count: number;
}

/** What an SDK reported of its calls since it was installed. */
export interface SdkBalance {
  library: string;
  version: string;
  /** Random id of one installation. */
  client: string;
  made: number;
  /** Durably, at the client. */
  stored: number;
  /** Accepted, by answers that the client got before this request. */
  sent: number;
  dropped: { cause: string; count: number }[];
}

/** ingest-outcome.v2 */
export interface IngestOutcome {
  gateway: string;
  sequence: number;
  account_id: number;
  app_id: number;
  received_at: number;
  source: EventSource;
  received: number;
  accepted: number;
  duplicate: number;
  rejected: number;
  counts: OutcomeCount[];
  balance: SdkBalance | null;
}

export type VerdictKind = 'duplicate' | 'repeat' | 'dead' | 'expired';

export interface Verdict {
  offset: number;
  index: number;
  account_id: number;
  received_at: number;
  verdict: VerdictKind;
}

/** verdict-record.v1: the normaliser's decisions about events that do not become a stored row. */
export interface VerdictRecord {
  partition: number;
  verdicts: Verdict[];
}

/** identity-command.v2 */
export interface IdentityCommand {
  account_id: number;
  command: string;
  previous_id: string;
  until: number;
  requested_at: number;
  /** Empty in records of version 1. */
  user_id: string;
}

/** The position of events.raw before which the events of a person are erased, in one partition. */
export interface ErasureCut {
  partition: number;
  epoch: number;
  offset: number;
}

/** erasure-command.v1 */
export interface ErasureCommand {
  id: number;
  account_id: number;
  key_id: number;
  names: Buffer[];
  requested_at: number;
  cuts: ErasureCut[];
}

export interface ChannelDevice {
  platform: string;
  push_token: string;
  push_provider: string;
  app_version: string;
  os_version: string;
  model: string;
  locale: string;
  timezone: string;
}

export interface WebPushKeys {
  p256dh: string;
  auth: string;
}

export interface ConsentChange {
  state: string;
  text_version: string;
  ip: string;
  user_agent: string;
}

export interface InboxRead {
  ids: string[];
}

export const CHANNEL_COMMAND_KINDS = [
  'device_registered',
  'device_unregistered',
  'web_push_subscribed',
  'web_push_unsubscribed',
  'messenger_linked',
  'messenger_unlinked',
  'address_deactivated',
  'consent_changed',
  'address_suppressed',
  'address_restored',
  'soft_bounced',
  'inbox_read',
  'erased',
] as const;

export type ChannelCommandKind = (typeof CHANNEL_COMMAND_KINDS)[number];

/** What an erased command is: it has its place and order only, and changes nothing. */
export const ERASED_COMMAND = 'erased' satisfies ChannelCommandKind;

/** channel-command.v1; the schema documents the fields. */
export interface ChannelCommand {
  account_id: number;
  app_id: number;
  write_key_id: number;
  received_at: number;
  gateway: string;
  sequence: number;
  written_before: number;
  refused_before: number;
  trace: string;
  source: string;
  /** A ChannelCommandKind; a newer release may have written another one. */
  kind: string;
  user_id: string;
  anonymous_id: string;
  channel: string;
  address_id: string;
  device: ChannelDevice | null;
  web_push: WebPushKeys | null;
  consent: ConsentChange | null;
  reason: string;
  message_ref: Buffer;
  inbox: InboxRead | null;
}

/** message-chunk.v1; the schema documents the fields. */
export interface MessageChunk {
  account_id: number;
  campaign_id: number;
  run_id: number;
  chunk: number;
  planned_at: number;
  first_key: string;
  recipients: ChunkRecipient[];
}

export interface ChunkRecipient {
  key: string;
  person_id: string;
  user_id: string;
  is_control: boolean;
}

export const MESSAGE_STATUSES = ['sent', 'failed', 'withheld', 'skipped'] as const;

export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** message-outcome.v1; the schema documents the fields. */
export interface MessageOutcome {
  account_id: number;
  message_id: string;
  campaign_id: number;
  run_id: number;
  template_id: number;
  template_version: number;
  channel: string;
  category: string;
  person_id: string;
  user_id: string;
  address_hash: string;
  /** A MessageStatus; a newer release may have written another one. */
  status: string;
  reason: string;
  provider: string;
  provider_message_id: string;
  planned_at: number;
  finished_at: number;
  attempts: number;
}
