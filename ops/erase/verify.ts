import { CommandError } from '../../cli/command.ts';
import { idHash } from '../../events/erasure/erased-people.ts';
import { delay } from '../../platform/backoff.ts';
import type { ExportFiles } from '../../platform/files/folder-files.ts';
import type { ArchiveStore } from '../archive/archive-store.ts';
import type { Connections } from '../jobs/connections.ts';
import type { ErasureRow } from './erasure-row.ts';
import type { Verification } from './findings.ts';
import { needleOf } from './needles.ts';
import { recordSearch } from './record-search.ts';
import { searchArchive } from './search-archive.ts';
import { searchClickhouse } from './search-clickhouse.ts';
import { searchExports, searchFolder } from './search-files.ts';
import { searchLog } from './search-log.ts';
import { searchPostgres } from './search-postgres.ts';
import type { RedisSettings } from '../../platform/redis/open-redis.ts';
import { searchRedis } from './search-redis.ts';

/**
 * Searches every store for the names of an erased person and for further texts. What came after the
 * cut is of a new person, and does not count.
 * @param names needed once the names are no longer stored
 */
export async function verifyErasure(
  connections: Connections,
  of: {
    erasure: ErasureRow;
    names: readonly string[];
    texts: readonly string[];
    files: ExportFiles;
    /** The folder of the gateway's spool on this machine. */
    spool: string;
    redis: RedisSettings;
    /** Undefined: there is none. */
    archive: ArchiveStore | undefined;
    signal: AbortSignal;
  },
): Promise<Verification> {
  const { erasure, texts, signal } = of;
  const names = await verifiedNames(connections, erasure, of.names);
  const needles = [
    ...names.map((name) => needleOf(name, true)),
    ...texts.map((text) => needleOf(text, false)),
  ];
  const search = { erasure: { ...erasure, names }, needles, signal };
  const searches = {
    postgres: () => searchPostgres(connections, search),
    clickhouse: () => searchClickhouse(connections, search),
    log: () => searchLog(connections, search),
    archive: async () =>
      of.archive
        ? searchArchive(
            { store: of.archive, heldIn: await recordSearch(connections, search) },
            search,
          )
        : NOTHING,
    redis: () => searchRedis(of.redis, search),
    exports: () => searchExports({ database: connections.database, files: of.files }, search),
    spool: () => searchFolder(of.spool, search),
  };
  const found = await Promise.all([
    ...[searches.postgres(), searches.log(), searches.redis(), searches.exports()],
    searches.archive(),
    ...[repeated(searches.clickhouse, signal), repeated(searches.spool, signal)],
  ]);
  return {
    findings: found.flatMap(({ findings }) => findings),
    mentions: found.flatMap(({ mentions }) => mentions),
  };
}

const NOTHING: Verification = { findings: [], mentions: [] };

const REPEATED_FOR = 15_000;

/**
 * What comes of a new person while the search runs is in a spool for a moment, and in the profile
 * before it is in the events.
 */
async function repeated(
  search: () => Promise<Verification>,
  signal: AbortSignal,
): Promise<Verification> {
  const deadline = performance.now() + REPEATED_FOR;
  for (;;) {
    const found = await search();
    if (found.findings.length === 0 || performance.now() > deadline) return found;
    await delay(1000, signal);
  }
}

/** The stored names, or those given, which must be the ones that were erased. */
async function verifiedNames(
  { database }: Connections,
  { id, accountId, keyId, hashes, names }: ErasureRow,
  given: readonly string[],
): Promise<readonly string[]> {
  if (names) return names;
  if (given.length === 0)
    throw new CommandError(`the names of erasure ${id} are no longer stored: give --user-id`);
  const { rows } = await database.query<{ key: Buffer }>(
    'SELECT key FROM erasure_keys WHERE id = $1 AND key IS NOT NULL',
    [keyId],
  );
  const [key] = rows;
  if (!key) throw new CommandError(`the key of erasure ${id} was destroyed: its names are unknown`);
  for (const name of given) {
    const hash = idHash(key.key, accountId, name);
    if (!hashes.some((one) => one.equals(hash)))
      throw new CommandError(`erasure ${id} is not about one of the given names`);
  }
  return given;
}
