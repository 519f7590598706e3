/**
 * The ClickHouse of the local stack: the engine of the npm package chdb, run as an HTTP server.
 * Started as `node deploy/local/clickhouse-server.ts CONFIG [TCP]`; the call into the engine never
 * returns and holds the main thread (its stack check requires it), so this process handles no
 * signals: SIGTERM ends it at once, which its tables survive as they survive kill -9.
 *
 * Unless it believes that a person types at a terminal, the engine ends its process when a
 * connection fails in an unexpected place, such as a TCP reset during the head of a request
 * (ClickHouse issue 115666). Therefore standard input is a terminal, and the mode interactive.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { DataType, load, open } from 'ffi-rs';
import { openTerminalAsStdin } from './pseudo-terminal.ts';

/**
 * Starts the listeners, HTTP last, then runs for ever. A client may be faster than the last
 * statement: the limit of the user `default` (services/clickhouse.ts) does not hold for it.
 */
const queryOf = (
  protocols: readonly string[],
) => `${protocols.map((one) => `SYSTEM START LISTEN ${one};`).join('\n')}
SELECT sleepEachRow(3) FROM system.numbers
SETTINGS max_block_size = 1, max_execution_time = 0, max_concurrent_queries_for_all_users = 0
FORMAT Null`;

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

const [config, ...others] = process.argv.slice(2);
if (config === undefined)
  throw new Error('usage: node deploy/local/clickhouse-server.ts CONFIG [TCP]');
/** Without a terminal it runs too, but a TCP reset can end it. */
function interactiveOptions(): string[] {
  try {
    openTerminalAsStdin();
    return ['--interactive', '--progress=off', '--disable_suggestion'];
  } catch (error) {
    console.error('no pseudo-terminal here: a TCP reset can end this process:', error);
    return [];
  }
}

const args = [
  'clickhouse',
  `--config-file=${config}`,
  '--log-level=error',
  ...interactiveOptions(),
  '--multiquery',
  `--query=${queryOf([...others, 'HTTP'])}`,
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
