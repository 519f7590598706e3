import type { ClickHouseClient } from '@clickhouse/client';
import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Registers } from './registers.ts';
import { QUORUM_INSERT } from '../../platform/clickhouse/replicas.ts';

interface StateRow {
  account_id: string;
  channel: string;
  address_id: string;
  user_id: string;
  anonymous_id: string;
  reason: string;
}

/**
 * The addresses that a batch may have changed: those that it names, all of a user whose chats it
 * ended, and the other devices with a token that it names.
 */
const TOUCHED = `SELECT s.account_id, s.channel, s.address_id, s.user_id, s.anonymous_id, s.reason FROM channel_address_states s
  WHERE (s.account_id, s.channel, s.address_id) IN (SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]))
  UNION SELECT s.account_id, s.channel, s.address_id, s.user_id, s.anonymous_id, s.reason FROM channel_address_states s
  WHERE s.user_id <> '' AND (s.account_id, s.user_id, s.channel) IN (SELECT * FROM unnest($4::bigint[], $5::text[], $6::text[]))
  UNION SELECT s.account_id, s.channel, s.address_id, s.user_id, s.anonymous_id, s.reason FROM channel_address_states s
  WHERE s.token_hash IS NOT NULL AND (s.account_id, s.token_hash) IN (SELECT * FROM unnest($7::bigint[], $8::bytea[]))`;

/** What may have changed. */
export interface Touched {
  addresses: readonly { account_id: number; channel: string; address_id: string }[];
  /** All addresses of a user on a channel. */
  users: readonly { account_id: number; channel: string; user_id: string }[];
  tokens: readonly { account_id: number; token_hash: Buffer }[];
}

interface Stores {
  database: Pick<Database, 'query'>;
  clickhouse: Pick<ClickHouseClient, 'insert'>;
  /** CLICKHOUSE_CLUSTER */
  cluster: string;
}

/** Writes the states of what a batch touched into ClickHouse. */
export function publishStates(stores: Stores, registers: Registers): Promise<void> {
  const { addresses, ends, tokens } = registers;
  const ended = [...ends.values()];
  const named = ended.filter(({ address_id }) => address_id !== '');
  return publishTouched(stores, {
    addresses: [...addresses.values(), ...named],
    users: ended.filter(({ address_id }) => address_id === ''),
    tokens: [...tokens.values()],
  });
}

/**
 * Writes the states of addresses into ClickHouse. The version is taken before the states are read
 * and after the batch was committed: a row with a later version has seen every change that one with
 * an earlier version has.
 */
export async function publishTouched(
  { database, clickhouse, cluster }: Stores,
  { addresses, users, tokens }: Touched,
): Promise<void> {
  if (addresses.length + users.length + tokens.length === 0) return;
  const next = await database.query<{ version: string }>(
    "SELECT nextval('channel_versions') AS version",
  );
  const version = Number(next.rows[0]?.version);
  const { rows } = await database.query<StateRow>(TOUCHED, [
    addresses.map(({ account_id }) => account_id),
    addresses.map(({ channel }) => channel),
    addresses.map(({ address_id }) => escapeText(address_id)),
    users.map(({ account_id }) => account_id),
    users.map(({ user_id }) => escapeText(user_id)),
    users.map(({ channel }) => channel),
    tokens.map(({ account_id }) => account_id),
    tokens.map(({ token_hash }) => token_hash),
  ]);
  if (rows.length === 0) return;
  await clickhouse.insert({
    table: 'addresses',
    values: rows.map((row) => stateValues(row, version)),
    format: 'JSONEachRow',
    columns: [...STATE_COLUMNS],
    clickhouse_settings: {
      async_insert: 0,
      ...(cluster === '' ? {} : QUORUM_INSERT),
    },
  });
}

/** The columns of ClickHouse's addresses. */
const STATE_COLUMNS = [
  ...['account_id', 'channel', 'address_id'],
  ...['name', 'active', 'version'],
] as const;

function stateValues(row: StateRow, version: number): object {
  return {
    ...{ account_id: Number(row.account_id), channel: row.channel, version },
    address_id: unescapeText(row.address_id),
    name: unescapeText(row.user_id || row.anonymous_id),
    active: row.reason === '',
  };
}
