import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { endWithTest } from './end-with-test.ts';
import type { HostileReport } from './hostile-client.ts';

const CLIENT = join(import.meta.dirname, 'hostile-client.ts');

export interface Attack {
  /** Ends the attack once what is under way is answered. */
  stop(): Promise<HostileReport>;
}

/** Attacks an ingest host from a process of its own; resolves when the attack has begun. */
export async function startAttack(url: string, key: string): Promise<Attack> {
  const child = spawn(process.execPath, [CLIENT], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, HOSTILE: JSON.stringify({ url, key }) },
  });
  endWithTest(child);
  // An attacker has machines of its own: of this one it gets what the others leave.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(child.stdout, 'data');
  return {
    stop: async () => {
      const ended = once(child, 'close');
      child.kill('SIGTERM');
      await ended;
      return JSON.parse(text.slice(text.indexOf('{'))) as HostileReport;
    },
  };
}
