import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { print, printError } from '../../../cli/terminal.ts';
import { add, failure, NONE, readLastLines, type Counts } from './counts.ts';
import type { Run } from './run.ts';
import type { StackScheduler } from './stack-scheduler.ts';

/**
 * Below the tests in front, whose bounds are seconds. Not the lowest: where both cores are busy all
 * the time these get so little of them at 19 that a connection to PostgreSQL takes its 3 s.
 */
const NICE = 10;

/** Takes from the queue, of files that share a stack, until nothing is left. */
export async function runQueue(
  queue: (readonly string[])[],
  { scheduler, ...run }: Run & { scheduler: StackScheduler },
): Promise<Counts> {
  let counts: Counts = NONE;
  while (queue.length > 0 && !run.signal.aborted)
    await scheduler.run(async () => {
      // The other worker may have run the last files meanwhile.
      const next = queue.shift();
      if (next) counts = add(counts, await runBeside(next, run));
    }, run.signal);
  return counts;
}

/**
 * Runs files in another `./ravand test`, whose output is printed when it has ended: the tests in
 * front stream theirs meanwhile.
 */
async function runBeside(
  files: readonly string[],
  { checkout, env, signal }: Run,
): Promise<Counts> {
  if (signal.aborted) return NONE;
  print(`beside these: ./ravand test ${files.join(' ')}`);
  const child = spawn(join(checkout, 'ravand'), ['test', ...files], {
    ...{ cwd: checkout, env: { ...env, NO_COLOR: '1' }, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (child.pid !== undefined) setPriority(child.pid, NICE);
    const [output, errors] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    print(output.trimEnd());
    if (errors.trim() !== '') printError(errors.trimEnd());
    return readLastLines(output, 'tests beside these');
  } catch (error) {
    return failure(`./ravand test ${files.join(' ')}: ${(error as Error).message}`);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
