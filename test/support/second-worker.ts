import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Ready } from '../../cli/ready.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');

export interface SecondWorker {
  child: ChildProcess;
  /** Resolves when it has taken partitions over from the first one. */
  assigned: Promise<void>;
}

/** Another process of a part, beside the one that the stack runs: the two share the partitions. */
export function startSecondWorker(folder: string, ready: Ready): SecondWorker {
  const child = spawn(process.execPath, [join(CHECKOUT, folder, 'main.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      KAFKA_BROKERS: ready.kafka_brokers,
      CLICKHOUSE_URL: ready.clickhouse_url,
      CLICKHOUSE_DATABASE: ready.clickhouse_database,
      DATABASE_URL: ready.database_url,
      REDIS_URL: ready.redis_url,
      ADMIN_ADDR: '127.0.0.1:0',
      KAFKA_INSTANCE_ID: '',
    },
  });
  const assigned = new Promise<void>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      if (line.includes('"topic":"events.normalised"') && line.includes('partitions assigned'))
        resolve();
    });
    child.once('exit', () =>
      reject(new Error(`the second worker of ${folder} ended before it had partitions`)),
    );
  });
  return { child, assigned };
}

/** Ends it with this signal and waits until it is gone. */
export async function endWorker(
  { child }: SecondWorker,
  signal: 'SIGTERM' | 'SIGKILL',
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await gone;
}
