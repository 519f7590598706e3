import { randomBytes } from 'node:crypto';
import { readLayout } from '../../platform/log/layout.ts';
import { useTopicNames } from '../../platform/log/topic-names.ts';
import { COMMAND, removeWriter, writeWriter } from '../../platform/log/writers.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { requireSteadyLog } from './steady-log.ts';

const RENEW_MS = 3000;

/**
 * Runs a command that publishes to a topic of the log: a growth and a rewrite wait for it, and it
 * is refused with CommandError while one is in progress.
 */
export async function asWriter<T>(
  { database, command }: { database: Database; command: string },
  work: () => Promise<T>,
): Promise<T> {
  const instance = randomBytes(8).toString('hex');
  const register = async () =>
    writeWriter(database, {
      ...{ instance, service: `${COMMAND}${command}`, waitsFor: '', spooled: 0 },
      ...{ generation: 0, phase: 'passing' },
    });
  await register();
  const renewing = setInterval(() => void register().catch(() => undefined), RENEW_MS);
  try {
    // After the registration: a change that begins now waits for this command.
    await requireSteadyLog(database);
    const layout = await readLayout(database);
    if (layout) await useTopicNames(layout);
    return await work();
  } finally {
    clearInterval(renewing);
    await removeWriter(database, instance).catch(() => undefined);
  }
}
