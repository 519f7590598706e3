import type { ConsentEntry } from '../../events/channels/consent-chain.ts';
import { escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { CommandBook } from './books.ts';
import type { AddressRow, CommandPlace, Registers } from './registers.ts';

type Queries = Pick<Database, 'query'>;

/** Holds the tables that are read; a rebuild fills others (ops/rebuild/addresses). */
export const LIVE_SCHEMA = 'public';

/** An entry of the log of consents with its place in the chain of its user. */
export interface ChainedConsent extends ConsentEntry, CommandPlace {
  accountId: number;
  userId: string;
  number: number;
  gateway: string;
  sequence: number;
  hash: Buffer;
}

/** Up to where a partition of channel.commands was applied; `next`: offset. */
export interface ChannelPosition {
  epoch: number;
  next: number;
}

export interface Batch {
  partition: number;
  /** Positions before the batch, as it is stored, and after it. */
  from: ChannelPosition;
  to: ChannelPosition;
  registers: Registers;
  consents: readonly ChainedConsent[];
  books?: readonly CommandBook[];
}

/** Another process writes this partition now; nothing of the batch was written. */
export class PositionMoved extends Error {
  constructor(partition: number) {
    super(
      `another process projects channel.commands ${partition} now; restarting from the recorded position`,
    );
    this.name = 'PositionMoved';
  }
}

const PLACE = 'log_epoch, log_partition, log_offset';
const PLACE_TYPES = 'log_epoch integer, log_partition integer, log_offset bigint';
const WRITTEN_BY = `received_at, gateway, sequence, ${PLACE}`;
const WRITTEN_BY_TYPES = `received_at bigint, gateway text, sequence bigint, ${PLACE_TYPES}`;

/** The later command counts; a text is compared by its bytes, as JavaScript does for ASCII. */
function isLater(table: string): string {
  return `(${table}.received_at, ${table}.gateway COLLATE "C", ${table}.sequence) < (excluded.received_at, excluded.gateway COLLATE "C", excluded.sequence)`;
}

function upsert(options: {
  schema: string;
  table: string;
  key: string;
  values: readonly string[];
  types: string;
  parameter: number;
}): string {
  const { schema, table, key, values, types, parameter } = options;
  const columns = `${key}, ${values.join(', ')}, ${WRITTEN_BY}`;
  const set = [...values, ...WRITTEN_BY.split(', ')].map((name) => `${name} = excluded.${name}`);
  return `${table}_written AS (
    INSERT INTO ${schema}.${table} (${columns})
    SELECT ${columns.replace('token_hash', "decode(token_hash, 'hex')")} FROM jsonb_to_recordset($${parameter}::jsonb) AS r (${types}, ${WRITTEN_BY_TYPES}), turn
    ON CONFLICT (${key}) DO UPDATE SET ${set.join(', ')} WHERE ${isLater(table)}
  )`;
}

function statement(schema: string): string {
  return `WITH turn AS (
    INSERT INTO ${schema}.channel_positions (partition, epoch, next_offset) VALUES ($1, $4, $5)
    ON CONFLICT (partition) DO UPDATE SET epoch = excluded.epoch, next_offset = excluded.next_offset
      WHERE (channel_positions.epoch, channel_positions.next_offset) = ($2::integer, $3::bigint)
    RETURNING 1
  ), ${upsert({
    schema,
    table: 'channel_addresses',
    key: 'account_id, channel, address_id',
    values: ['app_id', 'user_id', 'anonymous_id', 'token_hash', 'details'],
    types:
      'account_id bigint, channel text, address_id text, app_id bigint, user_id text, anonymous_id text, token_hash text, details jsonb',
    parameter: 6,
  })}, ${upsert({
    schema,
    table: 'channel_ends',
    key: 'account_id, channel, user_id, address_id',
    values: ['reason'],
    types: 'account_id bigint, channel text, user_id text, address_id text, reason text',
    parameter: 7,
  })}, ${upsert({
    schema,
    table: 'channel_tokens',
    key: 'account_id, token_hash',
    values: ['address_id'],
    types: 'account_id bigint, token_hash text, address_id text',
    parameter: 8,
  })}, ${upsert({
    schema,
    table: 'channel_consents',
    key: 'account_id, user_id, channel',
    values: ['state'],
    types: 'account_id bigint, user_id text, channel text, state text',
    parameter: 9,
  })}, ${upsert({
    schema,
    table: 'channel_suppressions',
    key: 'account_id, channel, address',
    values: ['suppressed', 'reason', 'user_id'],
    types:
      'account_id bigint, channel text, address text, suppressed boolean, reason text, user_id text',
    parameter: 10,
  })}, soft_written AS (
    INSERT INTO ${schema}.soft_bounces (account_id, channel, address, message_ref, user_id, received_at, ${PLACE})
    SELECT account_id, channel, address, decode(message_ref, 'hex'), user_id, received_at, ${PLACE}
    FROM jsonb_to_recordset($11::jsonb) AS r (account_id bigint, channel text, address text, message_ref text, user_id text, received_at bigint, ${PLACE_TYPES}), turn
    ON CONFLICT DO NOTHING
  ), consent_written AS (
    INSERT INTO ${schema}.consent_log (account_id, user_id, number, channel, state, source, text_version, ip, user_agent, ${WRITTEN_BY}, hash)
    SELECT account_id, user_id, number, channel, state, source, text_version, ip, user_agent, ${WRITTEN_BY}, decode(hash, 'hex')
    FROM jsonb_to_recordset($12::jsonb) AS r (account_id bigint, user_id text, number int, channel text, state text, source text, text_version text, ip text, user_agent text, ${WRITTEN_BY_TYPES}, hash text), turn
  ), booked AS (
    INSERT INTO ${schema}.channel_books (partition, account_id, gateway, written, refused, applied)
    SELECT $1, account_id, gateway, written, refused, applied
    FROM jsonb_to_recordset($13::jsonb) AS r (account_id bigint, gateway text, written bigint, refused bigint, applied bigint), turn
    ON CONFLICT (partition, account_id, gateway) DO UPDATE SET written = excluded.written, refused = excluded.refused,
      applied = excluded.applied, updated_at = clock_timestamp()
  ) SELECT 1 FROM turn`;
}

/**
 * Writes a batch and its position in one statement: a crash neither loses nor repeats a command.
 * Throws PositionMoved when the position is not the expected one.
 */
export async function writeBatch(
  database: Queries,
  batch: Batch,
  schema = LIVE_SCHEMA,
): Promise<void> {
  const { partition, from, to, registers, consents, books = [] } = batch;
  const { addresses, ends, tokens, suppressions, softBounces } = registers;
  const bounces = [...softBounces.values()].map((one) => ({
    ...{ account_id: one.account_id, channel: one.channel, address: one.address_id },
    ...{ message_ref: one.message_ref.toString('hex') },
    ...{ user_id: one.user_id, received_at: one.received_at },
    ...{ log_epoch: one.log_epoch, log_partition: one.log_partition, log_offset: one.log_offset },
  }));
  const entries = consents.map(({ accountId, userId, textVersion, userAgent, ...entry }) => ({
    ...{ account_id: accountId, user_id: userId, text_version: textVersion },
    ...{ ...entry, user_agent: userAgent, received_at: entry.receivedAt },
  }));
  const { rows } = await database.query(statement(schema), [
    ...[partition, from.epoch, from.next, to.epoch, to.next],
    json([...addresses.values()].map(withDetails)),
    ...[ends, tokens, registers.consents, suppressions].map((rows) => json([...rows.values()])),
    ...[json(bounces), json(entries), json(books)],
  ]);
  if (rows.length === 0) throw new PositionMoved(partition);
}

function withDetails(row: AddressRow): object {
  return { ...row, details: row.details === null ? null : (JSON.parse(row.details) as unknown) };
}

/** Texts are escaped, and bytes are hexadecimal. */
function json(rows: readonly object[]): string {
  const escaped = (_name: string, value: unknown): unknown => {
    if (typeof value === 'string') return escapeText(value);
    return isSerialisedBuffer(value) ? Buffer.from(value.data).toString('hex') : value;
  };
  return JSON.stringify(rows, escaped);
}

/** What Buffer.toJSON makes of a buffer before a replacer sees it. */
function isSerialisedBuffer(value: unknown): value is { type: 'Buffer'; data: number[] } {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer';
}
