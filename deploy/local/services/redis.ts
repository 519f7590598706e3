import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFile } from '../../../cli/json-file.ts';
import type { Home } from '../../../cli/stack/home.ts';
import type { Launch } from './service.ts';

/** Above these sizes Redis turns a packed bucket into a hash table of many times the memory. */
const LISTPACK = { entries: 512, value: 64 };

/** The server's configuration. noeviction: an evicted claim would let a duplicate in. */
export function redisConfiguration({
  folder,
  port,
  password,
}: {
  folder: string;
  port: number;
  password: string;
}): string {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    'daemonize no',
    'protected-mode yes',
    `requirepass ${password}`,
    `dir ${JSON.stringify(folder)}`,
    'appendonly yes',
    'appendfsync everysec',
    // The append-only file holds everything: snapshots would only cost forks.
    'save ""',
    // Writing it anew takes a core for seconds: at 26,000 events/s that was once in half a minute.
    'auto-aof-rewrite-min-size 1gb',
    'auto-aof-rewrite-percentage 300',
    'maxmemory-policy noeviction',
    // Of its timer: half of the default's work while it is idle.
    'hz 5',
    `hash-max-listpack-entries ${LISTPACK.entries}`,
    `hash-max-listpack-value ${LISTPACK.value}`,
    'loglevel notice',
  ];
  return `${lines.join('\n')}\n`;
}

export function prepareRedis({
  home,
  port,
  password,
}: {
  home: Home;
  port: number;
  password: string;
}): Launch {
  const folder = join(home.data, 'redis');
  mkdirSync(folder, { recursive: true });
  const file = join(home.run, 'redis.conf');
  writePrivateFile(file, redisConfiguration({ folder, port, password }));
  return { command: 'redis-server', args: [file], env: {} };
}
