/**
 * `node check-modules.ts FOLDER LOCK`: exit code 0 when FOLDER/node_modules holds what the lock
 * file says and its compiled addon loads under this Node. Runs before any package can be counted
 * on: it imports nothing but Node itself.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

interface Entry {
  version?: string;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
}
interface Lock {
  packages: Record<string, Entry>;
}

const [folder, lockFile] = process.argv.slice(2);
if (folder === undefined || lockFile === undefined)
  throw new Error('usage: node check-modules.ts FOLDER LOCK');

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Lock;
const wanted = read(lockFile).packages;
// The engines of the local stack: optional for those who install an image, not here.
const engines = Object.keys(wanted['']?.optionalDependencies ?? {});
const isEngine = (path: string) => engines.some((name) => path === `node_modules/${name}`);
const installed = read(join(folder, 'node_modules/.package-lock.json')).packages;

for (const [path, { version, optional }] of Object.entries(wanted)) {
  if (path === '') continue;
  const found = installed[path];
  // Optional packages are made for one system each: those of other systems are absent.
  const isNeeded = optional !== true || isEngine(path);
  if (found === undefined ? isNeeded : found.version !== version)
    throw new Error(`${path} is not ${version ?? 'as the lock file says'}`);
}
createRequire(resolve(folder, 'package.json'))('node-rdkafka');
