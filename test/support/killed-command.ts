import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const CHECKOUT = join(import.meta.dirname, '..', '..');

/**
 * Runs `./ravand …` until it writes a note that matches into its job, and ends it with kill -9
 * before or after PostgreSQL has that. Rejects when it came to its end instead.
 */
export async function killedAtNote(
  args: readonly string[],
  { moment, note }: { moment: 'before' | 'after'; note: RegExp },
): Promise<void> {
  const child = spawn(
    process.execPath,
    [
      '--import',
      join(import.meta.dirname, 'kill-at-note.ts'),
      join(CHECKOUT, 'cli/main.ts'),
      ...args,
    ],
    {
      stdio: 'ignore',
      env: { ...process.env, KILL_NOTE: note.source, KILL_MOMENT: moment },
    },
  );
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (signal !== 'SIGKILL')
    throw new Error(
      `${args.join(' ')} was not killed ${moment} ${note.source}: it ended with ${code}`,
    );
}
