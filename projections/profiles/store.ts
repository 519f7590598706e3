import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { profileKey, type Profile } from './profile.ts';
import { COLUMNS, readProfile, writeProfile } from './profile-row.ts';
import { RowBinaryReader, RowBinaryWriter } from './row-binary.ts';

export interface ProfileName {
  accountId: number;
  name: string;
}

/**
 * Where profiles are kept. Both methods reject when the store does not answer; then anything may
 * have happened, and repeating is harmless.
 */
export interface ProfileStore {
  /** The latest states of those names that have one, by key. */
  load(names: readonly ProfileName[], signal: AbortSignal): Promise<ReadonlyMap<string, Profile>>;
  /**
   * Resolves when every state is durable and seen by every later load. Of two states of a name the
   * one with more events stays.
   */
  save(profiles: readonly Profile[], signal: AbortSignal): Promise<void>;
}

/** One insert is about this large, bytes. */
const INSERT_BYTES = 16 * 1024 * 1024;

const INSERT_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  max_insert_block_size: '10000000',
  min_insert_block_size_rows: '0',
  min_insert_block_size_bytes: '0',
  max_execution_time: 60,
};
/** On a cluster an acknowledged insert is on a quorum of replicas, and a load sees it. */
const CLUSTER_INSERT: ClickHouseSettings = {
  distributed_foreground_insert: '1',
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
};
const LOAD_SETTINGS: ClickHouseSettings = {
  // The names stand in the query, as hexadecimal digits.
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
    async load(names, signal) {
      const query = `SELECT ${columns} FROM ${table} WHERE (account_id, name) IN (SELECT account_id, name FROM format(RowBinary, 'account_id UInt64, name String', unhex('${wanted(names)}'))) FORMAT RowBinary`;
      const answer = await client.exec({ query, abort_signal: signal, clickhouse_settings: load });
      return latest(new RowBinaryReader(await wholeAnswer(answer.stream)));
    },

    async save(profiles, signal) {
      const writer = new RowBinaryWriter();
      const send = async () => {
        const values = Readable.from([writer.take()], { objectMode: false });
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

/** node:stream/consumers would copy it through a Blob. */
async function wholeAnswer(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function wanted(names: readonly ProfileName[]): string {
  const writer = new RowBinaryWriter();
  for (const { accountId, name } of names) {
    writer.int64(accountId);
    writer.string(name);
  }
  return writer.take().toString('hex');
}

/** Parts that are not merged yet hold older states of a name: the one with most events counts. */
function latest(rows: RowBinaryReader): Map<string, Profile> {
  const found = new Map<string, Profile>();
  while (!rows.isAtEnd) {
    const profile = readProfile(rows);
    const key = profileKey(profile.accountId, profile.name);
    if (profile.eventCount > (found.get(key)?.eventCount ?? 0)) found.set(key, profile);
  }
  return found;
}
