import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { profileKey, type PackedProfile, type Profile } from './profile.ts';
import { COLUMNS, packProfile, readEventCount, readProfile } from './profile-row.ts';
import { RowBinaryReader, RowBinaryWriter } from './row-binary.ts';
import { SmallParts } from './small-parts.ts';
import { FEW_ROWS } from '../../platform/clickhouse/few-rows.ts';
import { ALL_REPLICAS, onAllReplicas, QUORUM_INSERT } from '../../platform/clickhouse/replicas.ts';

export interface ProfileId {
  accountId: number;
  distinctId: string;
}

/** Several profiles are too large for one load: load them in parts. */
export class ProfilesTooLarge extends Error {
  override readonly name = 'ProfilesTooLarge';
}

/** Profiles by `profileKey`. Each is made when it is asked for. */
export type LoadedProfiles = Pick<ReadonlyMap<string, Profile>, 'get' | 'values' | 'size'>;

/**
 * Stores profiles. Both methods reject when the store does not answer; the outcome is unknown then,
 * and a repeat is harmless.
 */
export interface ProfileStore {
  /**
   * The latest state of each distinct id that has one, by `profileKey`. Rejects with
   * ProfilesTooLarge when there are several ids whose states exceed what one load may hold.
   */
  load(ids: readonly ProfileId[], signal: AbortSignal): Promise<LoadedProfiles>;
  /**
   * Resolves when every state is durable and visible to later loads. Of two states of a distinct id
   * the one with more events is kept. Who needs the rows as well packs them once.
   */
  save(profiles: readonly (Profile | PackedProfile)[], signal: AbortSignal): Promise<void>;
}

/** Approximate size of one insert, bytes. */
const INSERT_BYTES = 16 * 1024 * 1024;
const LOAD_BYTES = 128 * 1024 * 1024;

const INSERT_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  max_insert_block_size: '10000000',
  min_insert_block_size_rows: '0',
  min_insert_block_size_bytes: '0',
  max_execution_time: 60,
  // The rows of an insert are of different people, and whoever reads takes the one with most
  // events: merging them beforehand, row by row, takes ClickHouse nearly half of an insert.
  optimize_on_insert: 0,
};
const LOAD_SETTINGS: ClickHouseSettings = {
  // The query contains the ids as hexadecimal digits.
  max_query_size: '1000000000',
  max_execution_time: 60,
  use_query_cache: 0,
  // It would remember each granule of each query, and no query comes twice.
  use_query_condition_cache: 0,
  preferred_optimize_projection_name: 'states',
  // Each level of the search through the index compares so many ranges with the ids. The server's 8
  // take more comparisons in all (docs/performance.md, Loads among many people).
  merge_tree_coarse_index_granularity: '4',
  enable_shared_storage_snapshot_in_query: 1,
  ...FEW_ROWS,
};

export function clickhouseProfiles(options: {
  client: ClickHouseClient;
  cluster: string;
  table?: string;
  /** Bytes of the states of several profiles in one load; 128 MiB by default. */
  maxLoadBytes?: number;
}): ProfileStore {
  const { client, cluster, table = 'profiles' } = options;
  const insert = cluster === '' ? INSERT_SETTINGS : { ...INSERT_SETTINGS, ...QUORUM_INSERT };
  // A replica may lack what a quorum of the others has: all of them are read.
  const load: ClickHouseSettings =
    cluster === '' ? LOAD_SETTINGS : { ...LOAD_SETTINGS, ...ALL_REPLICAS };
  const source = onAllReplicas(table, cluster);
  // A statement over a cluster has no one snapshot of its tables.
  const smallParts = cluster === '' ? new SmallParts(client, table) : undefined;
  const columns = COLUMNS.join(', ');
  return {
    async load(ids, signal) {
      const byKeys =
        smallParts === undefined
          ? []
          : (await smallParts.areAll(ids.length, signal))
            ? 'all'
            : await smallParts.forPeople(ids.length, signal);
      const query = loadQuery({ ids, source, byKeys });
      const clickhouse_settings = byKeys === 'all' ? { ...load, use_primary_key: 0 } : load;
      const answer = await client.exec({ query, abort_signal: signal, clickhouse_settings });
      const maxBytes = ids.length > 1 ? (options.maxLoadBytes ?? LOAD_BYTES) : Infinity;
      return new AnsweredProfiles(await wholeAnswer(answer.stream, maxBytes));
    },

    async save(profiles, signal) {
      const writer = new RowBinaryWriter();
      const send = async () => {
        const values = Readable.from([writer.finish()], { objectMode: false });
        const query = `INSERT INTO ${table} (${columns}) FORMAT RowBinary`;
        const answer = await client.exec({
          query,
          values,
          abort_signal: signal,
          clickhouse_settings: insert,
        });
        await text(answer.stream);
      };
      for (const profile of profiles) {
        writer.latin1(typeof profile === 'string' ? profile : packProfile(profile));
        if (writer.length >= INSERT_BYTES) await send();
      }
      if (writer.length > 0) await send();
    },
  };
}

/**
 * The states of people.
 * @param options.byKeys parts that are read by their keys alone; any of them may be gone by now
 */
function loadQuery(options: {
  ids: readonly ProfileId[];
  source: string;
  byKeys: 'all' | readonly string[];
}): string {
  const { ids, source, byKeys } = options;
  const wanted = `SELECT toUInt32(sipHash64(account_id, name)) FROM format(RowBinary, 'account_id UInt64, name String', unhex('${encodeIds(ids)}'))`;
  if (byKeys === 'all')
    return `WITH wanted AS (${wanted}) SELECT _state FROM ${source} PREWHERE _key IN (wanted) FORMAT RowBinary`;
  // The index chooses granules by `_key`, which is not read itself: `_state` begins with it.
  const byIndex =
    'indexHint(_key IN (wanted)) AND reinterpretAsUInt32(substring(_state, 1, 4)) IN (wanted)';
  if (byKeys.length === 0)
    return `WITH wanted AS (${wanted}) SELECT _state FROM ${source} WHERE ${byIndex} FORMAT RowBinary`;
  const names = byKeys.map((name) => `'${name}'`).join(', ');
  // Both halves are of one snapshot. If they were not: a part that is merged after the first half
  // is in the second one, as whatever is not named.
  return `WITH wanted AS (${wanted})
    SELECT _state FROM (SELECT _state FROM ${source} PREWHERE _key IN (wanted) WHERE _part IN (${names}) SETTINGS use_primary_key = 0, max_threads = 1)
    UNION ALL SELECT _state FROM ${source} WHERE _part NOT IN (${names}) AND ${byIndex} FORMAT RowBinary`;
}

/**
 * The whole answer; leaving it early ends the query. `buffer` of node:stream/consumers would copy
 * it through a Blob.
 */
async function wholeAnswer(stream: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ProfilesTooLarge(`the profiles exceed ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Of `_key` at the begin of `_state`. */
const KEY_BYTES = 4;

function encodeIds(ids: readonly ProfileId[]): string {
  const writer = new RowBinaryWriter();
  for (const { accountId, distinctId } of ids) {
    writer.int64(accountId);
    writer.string(distinctId);
  }
  return writer.finish().toString('hex');
}

/**
 * The latest states in the answer to a load. Unmerged parts hold older states of a distinct id: the
 * one with most events wins. People whose hash is that of a wanted one are among them; nobody asks
 * for them. A state stays encoded until it is asked for: most are then folded and encoded again at
 * once.
 */
class AnsweredProfiles implements LoadedProfiles {
  readonly #answer: Buffer;
  /** By key: where the state begins. */
  readonly #starts = new Map<string, number>();

  /** @param answer with the column `_state`: its length, the key, and a row of `profiles` */
  constructor(answer: Buffer) {
    this.#answer = answer;
    const rows = new RowBinaryReader(answer);
    while (!rows.isAtEnd) {
      const end = rows.varint() + rows.position;
      rows.skip(KEY_BYTES);
      const start = rows.position;
      const key = readKey(rows);
      rows.skip(end - rows.position);
      const known = this.#starts.get(key);
      const least = known === undefined ? 0 : countAt(answer, known);
      if (countAt(answer, start) > least) this.#starts.set(key, start);
    }
  }

  get size(): number {
    return this.#starts.size;
  }

  get(key: string): Profile | undefined {
    const start = this.#starts.get(key);
    return start === undefined ? undefined : this.#at(start);
  }

  *values(): MapIterator<Profile> {
    for (const start of this.#starts.values()) yield this.#at(start);
  }

  #at(start: number): Profile {
    const row = new RowBinaryReader(this.#answer);
    row.skip(start);
    return readProfile(row);
  }
}

/** Reads `profileKey` of the row that begins here. */
function readKey(row: RowBinaryReader): string {
  return profileKey(row.int64(), row.string());
}

function countAt(answer: Buffer, start: number): number {
  const row = new RowBinaryReader(answer);
  row.skip(start);
  return readEventCount(row);
}
