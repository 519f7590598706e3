/**
 * `node without-chdb.ts FOLDER`: removes ClickHouse's engine (more than 500 MB) from
 * FOLDER/package.json and its lock file, for those who point CLICKHOUSE_URL at a server of their
 * own. Runs before any package can be counted on: it imports nothing but Node itself.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Dependencies = Record<string, string>;
interface Manifest {
  optionalDependencies: Dependencies;
}
interface Lock {
  packages: Record<string, { optionalDependencies?: Dependencies }>;
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: node without-chdb.ts FOLDER');

const without = (dependencies: Dependencies) =>
  Object.fromEntries(Object.entries(dependencies).filter(([name]) => name !== 'chdb'));

function rewrite<T>(name: string, change: (content: T) => T): void {
  const path = join(folder ?? '', name);
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')) as T), null, 2));
}

rewrite<Manifest>('package.json', (manifest) => ({
  ...manifest,
  optionalDependencies: without(manifest.optionalDependencies),
}));
rewrite<Lock>('package-lock.json', (lock) => {
  const kept = Object.entries(lock.packages).filter(
    ([path]) => !/^node_modules\/(chdb|@chdb\/)/.test(path),
  );
  return {
    ...lock,
    packages: Object.fromEntries(
      kept.map(([path, entry]) => [
        path,
        path === ''
          ? { ...entry, optionalDependencies: without(entry.optionalDependencies ?? {}) }
          : entry,
      ]),
    ),
  };
});
