import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { profileKey, type Profile } from './profile.ts';
import { COLUMNS, readProfile, writeProfile } from './profile-row.ts';
import { RowBinaryReader, RowBinaryWriter } from './row-binary.ts';

export interface ProfileId {
  accountId: number;
  distinctId: string;
}

/**
 * Stores profiles. Both methods reject when the store does not answer; the outcome is unknown then,
 * and a repeat is harmless.
 */
export interface ProfileStore {
  /** The latest state of each distinct id that has one, by `profileKey`. */
  load(ids: readonly ProfileId[], signal: AbortSignal): Promise<ReadonlyMap<string, Profile>>;
  /**
   * Resolves when every state is durable and visible to later loads. Of two states of a distinct id
   * the one with more events is kept.
   */
  save(profiles: readonly Profile[], signal: AbortSignal): Promise<void>;
}

/** Approximate size of one insert, bytes. */
const INSERT_BYTES = 16 * 1024 * 1024;

const INSERT_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  max_insert_block_size: '10000000',
  min_insert_block_size_rows: '0',
  min_insert_block_size_bytes: '0',
  max_execution_time: 60,
};
/** On a cluster: an acknowledged insert is on a quorum of replicas and visible to a load. */
const CLUSTER_INSERT: ClickHouseSettings = {
  distributed_foreground_insert: '1',
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
};
const LOAD_SETTINGS: ClickHouseSettings = {
  // The query contains the distinct ids as hexadecimal digits.
  max_query_size: '1000000000',
  max_execution_time: 60,
  use_query_cache: 0,
};

export function clickhouseProfiles(options: {
  client: ClickHouseClient;
  cluster: string;
  table?: string;
}): ProfileStore {
  const { client, cluster, table = 'profiles' } = options;
  const insert = cluster === '' ? INSERT_SETTINGS : { ...INSERT_SETTINGS, ...CLUSTER_INSERT };
  const load: ClickHouseSettings =
    cluster === '' ? LOAD_SETTINGS : { ...LOAD_SETTINGS, select_sequential_consistency: '1' };
  const columns = COLUMNS.join(', ');
  return {
    async load(ids, signal) {
      const query = `SELECT ${columns} FROM ${table} WHERE (account_id, name) IN (SELECT account_id, name FROM format(RowBinary, 'account_id UInt64, name String', unhex('${encodeIds(ids)}'))) FORMAT RowBinary`;
      const answer = await client.exec({ query, abort_signal: signal, clickhouse_settings: load });
      return latest(new RowBinaryReader(await wholeAnswer(answer.stream)));
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
        writeProfile(writer, profile);
        if (writer.length >= INSERT_BYTES) await send();
      }
      if (writer.length > 0) await send();
    },
  };
}

/** `buffer` of node:stream/consumers would copy it through a Blob. */
async function wholeAnswer(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function encodeIds(ids: readonly ProfileId[]): string {
  const writer = new RowBinaryWriter();
  for (const { accountId, distinctId } of ids) {
    writer.int64(accountId);
    writer.string(distinctId);
  }
  return writer.finish().toString('hex');
}

/** Unmerged parts hold older states of a distinct id: the one with most events wins. */
function latest(rows: RowBinaryReader): Map<string, Profile> {
  const found = new Map<string, Profile>();
  while (!rows.isAtEnd) {
    const profile = readProfile(rows);
    const key = profileKey(profile.accountId, profile.distinctId);
    if (profile.eventCount > (found.get(key)?.eventCount ?? 0)) found.set(key, profile);
  }
  return found;
}
