/**
 * `node check-modules.ts FOLDER LOCK`: exit code 0 when FOLDER/node_modules holds what the lock
 * file says and its compiled addon loads under this Node. Runs before any package can be counted
 * on: it imports nothing but Node itself.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

interface Lock {
  packages: Record<string, { version?: string; optional?: boolean }>;
}

const [folder, lockFile] = process.argv.slice(2);
if (folder === undefined || lockFile === undefined)
  throw new Error('usage: node check-modules.ts FOLDER LOCK');

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Lock;
const wanted = read(lockFile).packages;
const installed = read(join(folder, 'node_modules/.package-lock.json')).packages;

for (const [path, { version, optional }] of Object.entries(wanted)) {
  if (path === '') continue;
  const found = installed[path];
  // Optional packages are made for one system each: those of other systems are absent.
  if (found === undefined ? optional !== true : found.version !== version)
    throw new Error(`${path} is not ${version ?? 'as the lock file says'}`);
}
createRequire(resolve(folder, 'package.json'))('node-rdkafka');
