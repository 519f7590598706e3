import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { escapeText, unescapeText } from '../../../platform/postgres/escaped-text.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { eachShard } from '../../../platform/clickhouse/shards.ts';

/** An address, and what audiences know of it; undefined: the store has none. */
export interface AddressKey {
  account_id: number;
  channel: string;
  address_id: string;
}

/** `name active` of a store. */
export type States = ReadonlyMap<string, string>;

/** Keys in one statement: an endpoint has up to some KiB. */
export const PAGE = 1000;

const READ: ClickHouseSettings = {
  max_execution_time: 300,
  max_query_size: '67108864',
  use_query_cache: 0,
  log_queries: 0,
  output_format_json_quote_64bit_integers: 0,
};

export function textOf({ account_id, channel, address_id }: AddressKey): string {
  return JSON.stringify([account_id, channel, address_id]);
}

type ClickhouseRow = [
  accountId: number,
  channel: string,
  address: string,
  name: string,
  active: 0 | 1,
];

/** ClickHouse's addresses, by page and by key. */
export class ClickhouseAddresses {
  readonly #client: Pick<ClickHouseClient, 'query' | 'command'>;
  readonly #cluster: string;

  constructor(client: Pick<ClickHouseClient, 'query' | 'command'>, cluster: string) {
    this.#client = client;
    this.#cluster = cluster;
  }

  async states(keys: readonly AddressKey[]): Promise<States> {
    if (keys.length === 0) return new Map();
    const rows = await this.#select<ClickhouseRow>(
      `SELECT account_id, toString(channel), address_id, name, toUInt8(active) FROM addresses FINAL
       WHERE (account_id, toString(channel), address_id) IN (${keys.map(literals).join(', ')})`,
    );
    return new Map(
      rows.map(([account_id, channel, address_id, name, active]) => [
        textOf({ account_id, channel, address_id }),
        `${active} ${name}`,
      ]),
    );
  }

  /** The keys after one, in the order of the table; fewer than PAGE: there are no more. */
  async after(last: AddressKey | undefined): Promise<AddressKey[]> {
    const rows = await this.#select<[number, string, string]>(
      `SELECT account_id, toString(channel) AS channel, address_id FROM addresses FINAL
       WHERE ${last ? `(account_id, toString(channel), address_id) > ${literals(last)}` : '1'}
       ORDER BY account_id, channel, address_id LIMIT ${PAGE}`,
    );
    return rows.map(([account_id, channel, address_id]) => ({ account_id, channel, address_id }));
  }

  /** Removes addresses that PostgreSQL does not have. The statement, which is kept, has hashes. */
  async remove(keys: readonly AddressKey[]): Promise<void> {
    if (keys.length === 0) return;
    const hashes = await this.#select<[string]>(
      `SELECT DISTINCT toString(cityHash64(account_id, toString(channel), address_id)) FROM addresses
       WHERE (account_id, toString(channel), address_id) IN (${keys.map(literals).join(', ')})`,
    );
    if (hashes.length === 0) return;
    const target =
      this.#cluster === '' ? 'addresses' : `addresses_local ON CLUSTER '${this.#cluster}'`;
    for (const shard of eachShard(this.#client))
      await shard.command({
        query: `ALTER TABLE ${target} DELETE WHERE cityHash64(account_id, toString(channel), address_id) IN (${hashes.flat().join(', ')})`,
        clickhouse_settings: { mutations_sync: '2', max_execution_time: 3600, log_queries: 0 },
      });
  }

  async #select<T>(query: string): Promise<T[]> {
    const answer = await this.#client.query({
      ...{ query, format: 'JSONCompactEachRow', clickhouse_settings: READ },
    });
    return answer.json<T>();
  }
}

function literals({ account_id, channel, address_id }: AddressKey): string {
  return `(${account_id}, ${literal(channel)}, ${literal(address_id)})`;
}

function literal(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\0', '\\0');
  return `'${escaped}'`;
}

interface StateRow {
  account_id: string;
  channel: string;
  address_id: string;
  name: string;
  active: boolean;
}

const STATE = `SELECT s.account_id, s.channel, s.address_id, coalesce(nullif(s.user_id, ''), s.anonymous_id) AS name, s.reason = '' AS active FROM channel_address_states s`;
const BY_KEY = `${STATE} WHERE (s.account_id, s.channel, s.address_id) IN (SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]))`;
const AFTER = `${STATE} WHERE (s.account_id, s.channel, s.address_id) > ($1::bigint, $2::text, $3::text) ORDER BY s.account_id, s.channel, s.address_id LIMIT ${PAGE}`;

/** The states in PostgreSQL, as ClickHouse should have them. */
export async function storedStates(
  database: Pick<Database, 'query'>,
  keys: readonly AddressKey[],
): Promise<States> {
  const { rows } = await database.query<StateRow>(BY_KEY, [
    keys.map(({ account_id }) => account_id),
    keys.map(({ channel }) => channel),
    keys.map(({ address_id }) => escapeText(address_id)),
  ]);
  return statesOf(rows);
}

/** A page of them, in the order of PostgreSQL. */
export async function storedAfter(
  database: Pick<Database, 'query'>,
  last: AddressKey | undefined,
): Promise<{ keys: AddressKey[]; states: States }> {
  const { rows } = await database.query<StateRow>(AFTER, [
    ...[last?.account_id ?? 0, last?.channel ?? '', escapeText(last?.address_id ?? '')],
  ]);
  return { keys: rows.map(keyOf), states: statesOf(rows) };
}

function keyOf({ account_id, channel, address_id }: StateRow): AddressKey {
  return { account_id: Number(account_id), channel, address_id: unescapeText(address_id) };
}

function statesOf(rows: readonly StateRow[]): States {
  return new Map(
    rows.map((row) => [textOf(keyOf(row)), `${row.active ? 1 : 0} ${unescapeText(row.name)}`]),
  );
}
