import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { shardsEnv } from '../../cli/stack/stack-plan.ts';
import { endWithTest } from './end-with-test.ts';
import { readyStack } from './stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');

/** A retention service of a test's own, which leaves nothing for tomorrow. */
export function startRetention(): ChildProcess {
  const ready = readyStack();
  const child = spawn(process.execPath, [join(CHECKOUT, 'projections/retention/main.ts')], {
    stdio: 'ignore',
    env: {
      ...process.env,
      ...{
        CLICKHOUSE_URL: ready.clickhouse_url,
        CLICKHOUSE_DATABASE: ready.clickhouse_database,
        ...shardsEnv(ready),
        DATABASE_URL: ready.database_url,
      },
      ...{ ADMIN_ADDR: '127.0.0.1:0', RETENTION_MARGIN: '0s', RETENTION_HOUR: '0' },
    },
  });
  endWithTest(child);
  return child;
}
