import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';

const CACHE = join(import.meta.dirname, '../../../.ravand/cache/pglite');

/**
 * An empty PostgreSQL in this process, in memory. initdb takes more than a second of CPU, and half
 * a hundred test files need a database: the first one stores what initdb made as
 * `.ravand/cache/pglite/empty-VERSION.tar` (40 MB), all others start from that.
 */
export async function emptyEngine(cache = CACHE): Promise<PGlite> {
  const file = join(cache, `empty-${installedVersion()}.tar`);
  if (existsSync(file)) return await PGlite.create({ loadDataDir: new Blob([readFileSync(file)]) });
  const engine = await PGlite.create();
  const dump = await engine.dumpDataDir('none');
  mkdirSync(cache, { recursive: true });
  // Renamed when it is whole: other processes find a whole file or none, and may do the same.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, Buffer.from(await dump.arrayBuffer()));
  renameSync(draft, file);
  return engine;
}

function installedVersion(): string {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const json = readFileSync(join(dirname(entry), '../package.json'), 'utf8');
  return (JSON.parse(json) as { version: string }).version;
}
