/**
 * The ClickHouse of the local stack: the engine of the npm package chdb, run as an HTTP server.
 * Started as `node deploy/local/clickhouse-server.ts CONFIG`; the call into the engine never
 * returns and holds the main thread (its stack check requires it), so this process handles no
 * signals: SIGTERM ends it at once, which its tables survive as they survive kill -9.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { DataType, load, open } from 'ffi-rs';

/** Starts the HTTP listener, then runs for ever. */
const QUERY =
  'SYSTEM START LISTEN HTTP; SELECT sleepEachRow(3) FROM system.numbers SETTINGS max_block_size = 1, max_execution_time = 0 FORMAT Null';

function findEngine(): string {
  const fromChdb = createRequire(createRequire(import.meta.url).resolve('chdb'));
  const libc = ['-gnu', '-musl', ''];
  for (const suffix of libc) {
    try {
      const file = join(
        dirname(
          fromChdb.resolve(`@chdb/lib-${process.platform}-${process.arch}${suffix}/package.json`),
        ),
        'libchdb.so',
      );
      if (existsSync(file)) return file;
    } catch {
      continue;
    }
  }
  throw new Error(
    `chdb has no engine for ${process.platform} ${process.arch}: point CLICKHOUSE_URL at a ClickHouse of your own`,
  );
}

const config = process.argv[2];
if (config === undefined) throw new Error('usage: node deploy/local/clickhouse-server.ts CONFIG');
const args = [
  'clickhouse',
  `--config-file=${config}`,
  '--log-level=warning',
  '--multiquery',
  `--query=${QUERY}`,
];
open({ library: 'chdb', path: findEngine() });
load({
  library: 'chdb',
  funcName: 'chdb_query_cmdline',
  retType: DataType.Void,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [args.length, args],
});
// Reached only after a failed start; the reason is in the log above.
process.exit(1);
