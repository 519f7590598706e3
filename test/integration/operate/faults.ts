import { join } from 'node:path';
import { ServiceProcess } from '../../support/service-process.ts';
import { clickhouse, ravand, readyStack } from '../../support/stack.ts';

/** Replaces the stack's normaliser by a faulty release while `work` runs. */
export async function withFaultyNormaliser(work: () => Promise<void>): Promise<void> {
  await ravand('stop', 'normaliser');
  // With the same instance id the group assigns the partitions at once, to it and to its successor.
  const faulty = new ServiceProcess('pipeline/normalise/main.ts', {
    preload: join(import.meta.dirname, 'faulty-normaliser.ts'),
    env: { KAFKA_INSTANCE_ID: 'normaliser' },
  });
  try {
    await faulty.untilLogged(/partitions assigned/);
    await work();
  } finally {
    await faulty.end('SIGTERM');
    await ravand('start', 'normaliser');
  }
}

/** Makes ClickHouse refuse rows of this event while `work` runs. */
export async function withRefusedEvent(event: string, work: () => Promise<void>): Promise<void> {
  const client = clickhouse(readyStack());
  try {
    await client.command({
      query: `ALTER TABLE events ADD CONSTRAINT refused CHECK event != '${event}'`,
    });
    await work();
  } finally {
    await client.command({ query: 'ALTER TABLE events DROP CONSTRAINT IF EXISTS refused' });
    await client.close();
  }
}
