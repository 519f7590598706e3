import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { syncReplicas } from '../../platform/clickhouse/replicas.ts';
import { KEPT_ROWS } from '../../platform/meters/kept-rows.ts';
import type { LogPosition } from '../../schemas/log-position.ts';
import type { ErasureCut } from '../../schemas/records.ts';
import type { ChannelAddress } from './channel-rows.ts';
import type { MinuteCounts } from './erasure-row.ts';

/** What holds rows of people, by a column that only such tables have. */
const KINDS = {
  events: '_acceptance',
  profiles: '_stamps',
  identities: 'canonical',
  addresses: 'address_id',
  messages: 'provider_message_id',
  recipients: 'is_control',
  opens: 'opened_by_person_at',
} as const;
/** Tables of messages: the columns that name the person, and when a row was made. */
const MESSAGE_TABLES = {
  messages: { names: ['person_id', 'user_id'], time: 'planned_at' },
  recipients: { names: ['person_id', 'user_id'], time: 'frozen_at' },
  opens: { names: ['user_id'], time: 'opened_by_person_at' },
} as const;
type MessageTable = keyof typeof MESSAGE_TABLES;
type TableKind = keyof typeof KINDS;

/** The column that says when the messages of a table were planned; undefined: it holds none. */
export function plannedAt(columns: readonly string[]): string | undefined {
  const found = (['messages', 'recipients', 'opens'] as const).find((kind) =>
    columns.includes(KINDS[kind]),
  );
  return found && MESSAGE_TABLES[found].time;
}

/** @param until ms since the epoch */
export function plannedUntil(column: string, until: number): string {
  return `${column} <= fromUnixTimestamp64Milli(${Math.ceil(until)}, 'UTC')`;
}

/** The events of a person up to a cut. */
export interface PersonRows {
  accountId: number;
  names: readonly string[];
  cuts: readonly ErasureCut[];
}

/** No statement about a person is logged. */
const READ: ClickHouseSettings = {
  max_execution_time: 300,
  use_query_cache: 0,
  log_queries: 0,
  output_format_json_quote_64bit_integers: 0,
};
/** Waits until the parts are rewritten, on all replicas. */
const DELETE: ClickHouseSettings = {
  mutations_sync: '2',
  max_execution_time: 3600,
  log_queries: 0,
};

/**
 * Finds and removes rows of people. Statements hold 64-bit hashes instead of names, because
 * ClickHouse keeps the text of mutations. Parts are rewritten: a lightweight delete leaves the
 * values on disk.
 */
export class ClickhouseRows {
  readonly #client: ClickHouseClient;
  readonly #cluster: string;

  constructor(client: ClickHouseClient, cluster: string) {
    this.#client = client;
    this.#cluster = cluster;
  }

  /** Tables of a kind: the live one, and those that a rebuild or a replay made. */
  async tables(kind: TableKind): Promise<string[]> {
    const local = this.#cluster === '' ? '' : "AND endsWith(table, '_local')";
    const rows = await this.select<[string]>(
      `SELECT DISTINCT table FROM system.columns WHERE database = currentDatabase() AND name = {column:String} ${local}
       AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree') ORDER BY table`,
      { column: KINDS[kind] },
    );
    return rows.map(([table]) => table);
  }

  /** Condition of the person's events up to the cut, over a table of events. */
  async eventsWhere({ accountId, names, cuts }: PersonRows): Promise<string> {
    const before = cuts.map(
      ({ partition, epoch, offset }) =>
        `(_partition = ${partition} AND (_epoch, _offset) < (${epoch}, ${offset}))`,
    );
    const persons = await this.#hashes(names);
    return `account_id = ${accountId} AND _person IN (${persons}) AND (${before.join(' OR ') || '0'})`;
  }

  /** Condition of rows that are about the person as a whole. */
  async namesWhere(
    kind: 'profiles' | 'identities',
    { accountId, names }: Pick<PersonRows, 'accountId' | 'names'>,
  ): Promise<string> {
    const persons = await this.#hashes(names);
    const canonical = kind === 'identities' ? ` OR sipHash64(canonical) IN (${persons})` : '';
    return `account_id = ${accountId} AND (_person IN (${persons})${canonical})`;
  }

  /** Condition of the rows of a person and of addresses, over a table of addresses. */
  async addressesWhere(
    { accountId, names }: Pick<PersonRows, 'accountId' | 'names'>,
    own: readonly ChannelAddress[],
  ): Promise<string> {
    const hashes = await this.select<[string]>(
      `SELECT toString(cityHash64(own.1, own.2)) FROM (SELECT arrayJoin(arrayZip({channels:Array(String)}, {addresses:Array(String)})) AS own)`,
      {
        channels: own.map(({ channel }) => channel),
        addresses: own.map(({ address }) => address),
      },
    );
    const persons = await this.#hashes(names);
    const listed = hashes.map(([hash]) => hash).join(', ');
    const theirs =
      listed === '' ? '' : ` OR cityHash64(toString(channel), address_id) IN (${listed})`;
    return `account_id = ${accountId} AND (_person IN (${persons})${theirs})`;
  }

  /**
   * Condition of the messages of a person that were planned up to a time.
   * @param at ms since the epoch
   */
  async messagesWhere(
    kind: MessageTable,
    { accountId, names, at }: Pick<PersonRows, 'accountId' | 'names'> & { at: number },
  ): Promise<string> {
    const { names: columns, time } = MESSAGE_TABLES[kind];
    const persons = await this.#hashes(names);
    const theirs = columns.map((column) => `sipHash64(${column}) IN (${persons})`);
    return `account_id = ${accountId} AND (${theirs.join(' OR ')}) AND ${plannedUntil(time, at)}`;
  }

  /** Ids of the person's transactional messages. */
  async messageIds(
    person: Pick<PersonRows, 'accountId' | 'names'> & { at: number },
  ): Promise<string[]> {
    const where = await this.messagesWhere('messages', person);
    const rows = await this.select<[string]>(
      `SELECT DISTINCT message_id FROM messages WHERE campaign_id = 0 AND ${where}`,
    );
    return rows.map(([id]) => id);
  }

  /** Those of the texts that are the e-mail address or phone number of other people's profiles. */
  async reachedByOthers(
    person: Pick<PersonRows, 'accountId' | 'names'>,
    addresses: readonly string[],
  ): Promise<Set<string>> {
    if (addresses.length === 0) return new Set();
    const theirs = await this.namesWhere('profiles', person);
    const found = await this.select<[email: string, phone: string]>(
      `SELECT DISTINCT email, phone FROM profiles FINAL WHERE account_id = ${person.accountId} AND NOT (${theirs})
       AND (email IN {addresses:Array(String)} OR phone IN {addresses:Array(String)})`,
      { addresses: [...addresses] },
    );
    return new Set(found.flat());
  }

  async count(table: string, where: string): Promise<number> {
    const [row] = await this.select<[number]>(`SELECT count() FROM ${table} WHERE ${where}`);
    return row?.[0] ?? 0;
  }

  /** Rows that reconciliation counts as stored, by minute of reception. */
  async byMinute(where: string): Promise<MinuteCounts> {
    await syncReplicas(this.#client, { table: 'events', cluster: this.#cluster });
    return this.select<[number, number]>(
      `SELECT toUnixTimestamp(toStartOfMinute(received_at)) AS minute, countIf(${KEPT_ROWS}) AS rows FROM events WHERE ${where} GROUP BY minute HAVING rows > 0 ORDER BY minute`,
    );
  }

  positions(where: string): Promise<LogPosition[]> {
    return this.select<[number, number, number, number]>(
      `SELECT _epoch, _partition, _offset, _index FROM events WHERE ${where}`,
    ).then((rows) =>
      rows.map(([epoch, partition, offset, index]) => ({ epoch, partition, offset, index })),
    );
  }

  /** Resolves with the number of rows once no part holds them. */
  async delete(table: string, where: string): Promise<number> {
    return this.#mutate(table, 'DELETE', where);
  }

  /** Empties the person of rows of frozen audiences; the rows stay. */
  async blankRecipients(table: string, where: string): Promise<number> {
    return this.#mutate(table, "UPDATE person_id = '', user_id = ''", where);
  }

  /** After the mutation no row matches any more. */
  async #mutate(table: string, change: string, where: string): Promise<number> {
    const found = await this.count(table, where);
    if (found === 0) return 0;
    const onCluster = this.#cluster === '' ? '' : ` ON CLUSTER '${this.#cluster}'`;
    await this.#client.command({
      query: `ALTER TABLE ${table}${onCluster} ${change} WHERE ${where}`,
      clickhouse_settings: DELETE,
    });
    const left = await this.count(table, where);
    if (left > 0) throw new Error(`${left} rows of ${table} are left: run the same command again`);
    return found;
  }

  async select<T>(query: string, query_params: Record<string, unknown> = {}): Promise<T[]> {
    const answer = await this.#client.query({
      ...{ query, query_params, format: 'JSONCompactEachRow', clickhouse_settings: READ },
    });
    return answer.json<T>();
  }

  /** The hashes by which `_person` knows the names. */
  async #hashes(names: readonly string[]): Promise<string> {
    const rows = await this.select<[string]>(
      'SELECT toString(sipHash64(arrayJoin({names:Array(String)})))',
      { names: [...names] },
    );
    return rows.map(([hash]) => hash).join(', ');
  }
}
