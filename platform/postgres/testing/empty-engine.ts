import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';

const CACHE = join(import.meta.dirname, '../../../.ravand/cache/pglite');

/** As in the local stack: with the default of 128 MiB a start takes longer, and each TRUNCATE. */
const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'];

/**
 * An empty PostgreSQL in this process, in memory. initdb takes more than a second of CPU, and half
 * a hundred test files need a database: the first one stores what initdb made as
 * `.ravand/cache/pglite/empty-VERSION.tar` (16 MB), all others start from that.
 */
export async function emptyEngine(cache = CACHE): Promise<PGlite> {
  const file = join(cache, `empty-${installedVersion()}.tar`);
  if (!existsSync(file)) await storeEmpty(file);
  return await PGlite.create({ startParams, loadDataDir: new Blob([readFileSync(file)]) });
}

/** What every start has to read is little: short segments of the WAL, no template databases. */
async function storeEmpty(file: string): Promise<void> {
  const engine = await PGlite.create({ initDbStartParams: ['--wal-segsize=1'] });
  await engine.exec('UPDATE pg_database SET datistemplate = false');
  for (const template of ['template0', 'template1']) await engine.exec(`DROP DATABASE ${template}`);
  await engine.exec('CHECKPOINT');
  const dump = await engine.dumpDataDir('none');
  await engine.close();
  mkdirSync(dirname(file), { recursive: true });
  // Renamed when it is whole: other processes find a whole file or none, and may do the same.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, Buffer.from(await dump.arrayBuffer()));
  renameSync(draft, file);
}

function installedVersion(): string {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const json = readFileSync(join(dirname(entry), '../package.json'), 'utf8');
  return (JSON.parse(json) as { version: string }).version;
}
