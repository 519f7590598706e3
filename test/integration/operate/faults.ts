import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { clickhouse, ravand, readyStack } from '../../support/stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

/**
 * Runs the faulty release in place of the stack's normaliser while `work` runs; then the stack's
 * own comes back.
 */
export async function withFaultyNormaliser(work: () => Promise<void>): Promise<void> {
  const ready = readyStack();
  await ravand('stop', 'normaliser');
  const preload = join(import.meta.dirname, 'faulty-normaliser.ts');
  const child = spawn(
    process.execPath,
    ['--import', preload, join(CHECKOUT, 'pipeline/normalise/main.ts')],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        KAFKA_BROKERS: ready.kafka_brokers,
        CLICKHOUSE_URL: ready.clickhouse_url,
        CLICKHOUSE_DATABASE: ready.clickhouse_database,
        DATABASE_URL: ready.database_url,
        REDIS_URL: ready.redis_url,
        ADMIN_ADDR: '127.0.0.1:0',
        // The same member of the group: it has the partitions at once, and so has its successor.
        KAFKA_INSTANCE_ID: 'normaliser',
      },
    },
  );
  try {
    await new Promise<void>((resolve, reject) => {
      createInterface(child.stdout).on('line', (line) => {
        if (line.includes('partitions assigned')) resolve();
      });
      child.once('exit', () =>
        reject(new Error('the faulty normaliser ended before it had partitions')),
      );
    });
    await work();
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await ravand('start', 'normaliser');
  }
}

/** ClickHouse refuses rows of this event while `work` runs. */
export async function withRefusedEvent(event: string, work: () => Promise<void>): Promise<void> {
  const client = clickhouse(readyStack());
  try {
    await client.command({
      query: `ALTER TABLE events ADD CONSTRAINT refused CHECK event != '${event}'`,
    });
    try {
      await work();
    } finally {
      await client.command({ query: 'ALTER TABLE events DROP CONSTRAINT IF EXISTS refused' });
    }
  } finally {
    await client.close();
  }
}
