import { join } from 'node:path';
import type { Step } from './service.ts';

interface StepRow {
  name: string;
  title: string;
  needs: readonly string[];
  script: string;
}

/** What runs at each `up` before the services start. Each script is idempotent. */
const rows: readonly StepRow[] = [
  { name: 'topics', title: 'topics', needs: ['kafka'], script: 'topics.ts' },
  {
    name: 'migrate-clickhouse',
    title: 'ClickHouse migrations',
    needs: ['clickhouse'],
    script: 'migrate-clickhouse.ts',
  },
  {
    name: 'migrate-postgres',
    title: 'PostgreSQL migrations',
    needs: ['postgres'],
    script: 'migrate-postgres.ts',
  },
  {
    name: 'demo-account',
    title: 'demo account',
    needs: ['migrate-postgres'],
    script: 'demo-account.ts',
  },
];

const TIMEOUT_MS = 120_000;

export function setupSteps({
  checkout,
  env,
}: {
  checkout: string;
  env: Readonly<Record<string, string>>;
}): Step[] {
  return rows.map(({ script, ...row }) => ({
    ...row,
    timeoutMs: TIMEOUT_MS,
    launch: {
      command: process.execPath,
      args: [join(checkout, 'deploy/local/setup', script)],
      env,
    },
  }));
}
