import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Home } from '../../../cli/stack/home.ts';
import type { Launch } from './service.ts';

/** Above these sizes Redis turns a packed bucket into a hash table of many times the memory. */
const LISTPACK = { entries: 512, value: 64 };

/** The server's configuration. noeviction: an evicted claim would let a duplicate in. */
export function redisConfiguration({ folder, port }: { folder: string; port: number }): string {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    'daemonize no',
    'protected-mode yes',
    `dir ${JSON.stringify(folder)}`,
    'appendonly yes',
    'appendfsync everysec',
    // The append-only file holds everything: snapshots would only cost forks.
    'save ""',
    'maxmemory-policy noeviction',
    `hash-max-listpack-entries ${LISTPACK.entries}`,
    `hash-max-listpack-value ${LISTPACK.value}`,
    'loglevel notice',
  ];
  return `${lines.join('\n')}\n`;
}

export function prepareRedis({ home, port }: { home: Home; port: number }): Launch {
  const folder = join(home.data, 'redis');
  mkdirSync(folder, { recursive: true });
  const file = join(home.run, 'redis.conf');
  writeFileSync(file, redisConfiguration({ folder, port }));
  return { command: 'redis-server', args: [file], env: {} };
}
