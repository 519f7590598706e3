import type { ClickHouseClient } from '@clickhouse/client';
import { isProfileColumn, PROFILE_COLUMNS } from '../../events/traits.ts';
import { unsignedLength, writeUnsigned } from '../../schemas/varint.ts';
import { FEW_ROWS } from '../../platform/clickhouse/few-rows.ts';
import { SqlParams } from '../../platform/clickhouse/sql.ts';
import type { StoredProfile } from './merge-profiles.ts';

/** A distinct id whose profile is wanted. */
export interface ProfileName {
  accountId: number;
  name: string;
  /** One of several names of a person: when its traits were written matters. */
  isMerged: boolean;
}

interface ProfilesQuestion {
  client: Pick<ClickHouseClient, 'query'>;
  names: readonly ProfileName[];
  /** Traits and columns that are read; undefined: all. */
  read: readonly string[] | undefined;
  signal: AbortSignal;
}

interface Row extends Record<(typeof PROFILE_COLUMNS)[number], string> {
  account: number;
  name: string;
  events: number;
  /** Absent: not asked for. */
  traits?: Record<string, string>;
  numbers?: Record<string, number>;
  stamps?: Record<string, string>;
}

const SECONDS = 10;
/**
 * A statement of up to so many names lists them, which costs ClickHouse a fifth less than reading
 * them as rows; of more it costs more.
 */
const LISTED_NAMES = 100;

/**
 * The stored profiles of distinct ids, in one statement that looks each up by the primary key.
 * Names without a profile are absent. Rejects when ClickHouse does not answer.
 * @returns by profileKey
 */
export async function readProfiles(
  question: ProfilesQuestion,
): Promise<Map<string, StoredProfile>> {
  const { client, names, read, signal } = question;
  if (names.length === 0 || read?.length === 0) return new Map();
  const found = new Map<string, { events: number; profile: StoredProfile }>();
  const wanted = read && new Set(read);
  const columns = PROFILE_COLUMNS.filter((column) => wanted?.has(column) ?? true);
  const params = new SqlParams();
  const traits = wanted && [...wanted].filter((name) => !isProfileColumn(name));
  const keys = (names: readonly string[], map: string) =>
    `mapFilter((key, value) -> ${params.isTextIn('key', names)}, ${map})`;
  // A map is many times as large as a column: without a trait it is not read.
  const kept = (map: string, as: string) =>
    traits?.length === 0 ? [] : [`${traits ? keys(traits, map) : map} AS ${as}`];
  const merged = names.filter(({ isMerged }) => isMerged);
  // A time of writing is one number of 128 bits: as a text of equal length it is exact.
  const stampsText = `mapApply((key, at) -> (key, leftPad(toString(at), 39, '0')), _stamps)`;
  const written = wanted ? keys([...wanted], stampsText) : stampsText;
  const none = `CAST(map(), 'Map(String, String)')`;
  const stamps =
    merged.length === 0
      ? []
      : [`if((account_id, name) IN (${namesSql(merged)}), ${written}, ${none}) AS stamps`];
  const selected = [
    ...['account_id AS account', 'name', 'event_count AS events', ...columns],
    ...[...kept('traits', 'traits'), ...kept('trait_numbers', 'numbers'), ...stamps],
  ];
  const answer = await client.query({
    query: `SELECT ${selected.join(', ')} FROM profiles WHERE (account_id, name) IN (${namesSql(names)})`,
    query_params: params.values(),
    use_multipart_params_auto: true,
    format: 'JSONEachRow',
    abort_signal: signal,
    clickhouse_settings: {
      max_execution_time: SECONDS,
      // Looking up few rows by their key, more threads only cost each other.
      max_threads: 1,
      max_query_size: '100000000',
      output_format_json_quote_64bit_integers: 0,
      use_query_cache: 0,
      // Of conditions that nobody asks for again: a sixth of the statement.
      use_query_condition_cache: 0,
      ...FEW_ROWS,
    },
  });
  for await (const rows of answer.stream<Row>())
    for (const line of rows) {
      const { account, name, events, ...stored } = line.json();
      const { traits = {}, numbers = {}, stamps: writtenAt = {}, ...texts } = stored;
      const key = profileKey({ accountId: account, name });
      // Unmerged parts hold older states of a distinct id: the one with most events counts.
      if (events < (found.get(key)?.events ?? 0)) continue;
      found.set(key, { events, profile: { columns: texts, traits, numbers, stamps: writtenAt } });
    }
  return new Map([...found].map(([key, { profile }]) => [key, profile]));
}

export function profileKey({ accountId, name }: Pick<ProfileName, 'accountId' | 'name'>): string {
  return `${accountId} ${name}`;
}

/** Names are bytes in the statement: a parameter would be limited to 128 KiB. */
function namesSql(names: readonly ProfileName[]): string {
  if (names.length <= LISTED_NAMES)
    return names
      .map(({ accountId, name }) => `(${accountId}, x'${Buffer.from(name).toString('hex')}')`)
      .join(', ');
  const bytes = names.map(({ accountId, name }) => {
    const text = Buffer.from(name);
    const head = Buffer.alloc(8 + unsignedLength(text.length));
    head.writeBigUInt64LE(BigInt(accountId));
    writeUnsigned(text.length, head, 8);
    return Buffer.concat([head, text]);
  });
  return `SELECT account_id, name FROM format(RowBinary, 'account_id UInt64, name String', unhex('${Buffer.concat(bytes).toString('hex')}'))`;
}
