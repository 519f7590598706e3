import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Home } from '../../../cli/stack/home.ts';
import type { Launch } from './service.ts';

interface Server {
  home: Home;
  checkout: string;
  port: number;
  /** Memory limit, bytes. */
  memory: number;
}

const MIB = 2 ** 20;

/** Writes the configuration, with small caches: the defaults are for larger machines. */
export function prepareClickhouse({ home, checkout, port, memory }: Server): Launch {
  const folder = join(home.data, 'clickhouse');
  mkdirSync(folder, { recursive: true });
  const cache = Math.floor(Math.min(256 * MIB, memory / 8));
  const settings: Record<string, string | number> = {
    path: folder,
    tmp_path: join(folder, 'tmp/'),
    http_port: port,
    listen_host: '127.0.0.1',
    max_server_memory_usage: memory,
    merges_mutations_memory_usage_soft_limit: Math.floor(memory / 2),
    mark_cache_size: cache,
    primary_index_cache_size: cache,
    index_mark_cache_size: Math.floor(cache / 4),
    background_pool_size: Math.max(2, availableParallelism()),
    max_concurrent_queries: 200,
  };
  const file = join(home.run, 'clickhouse.xml');
  const lines = Object.entries(settings).map(
    ([name, value]) => `  <${name}>${escapeXml(String(value))}</${name}>`,
  );
  writeFileSync(
    file,
    `<clickhouse>\n${lines.join('\n')}\n  <logger><console>1</console></logger>\n</clickhouse>\n`,
  );
  return {
    command: process.execPath,
    args: [join(checkout, 'deploy/local/clickhouse-server.ts'), file],
    env: {},
  };
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
