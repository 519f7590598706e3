import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const CHECKOUT = join(import.meta.dirname, '..', '..');

/**
 * Runs `./ravand …` and kills it with kill -9 when it updates its row of log_jobs with values that
 * match `update`, before or after PostgreSQL has them. Rejects when the command ends by itself.
 */
export async function killedAtUpdate(
  args: readonly string[],
  { moment, update }: { moment: 'before' | 'after'; update: RegExp },
): Promise<void> {
  const child = spawn(
    process.execPath,
    [
      '--import',
      join(import.meta.dirname, 'kill-at-update.ts'),
      join(CHECKOUT, 'cli/main.ts'),
      ...args,
    ],
    {
      stdio: 'ignore',
      env: { ...process.env, KILL_UPDATE: update.source, KILL_MOMENT: moment },
    },
  );
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (signal !== 'SIGKILL')
    throw new Error(
      `${args.join(' ')} was not killed ${moment} ${update.source}: it exited with ${code}`,
    );
}
