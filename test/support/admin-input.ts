import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { runCommand } from './commands/run-command.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');

/** The JSON answer of an admin command that reads JSON from standard input. */
export async function adminWithInput<T>(input: unknown, ...args: string[]): Promise<T> {
  const answer = await runCommand(['admin', ...args], JSON.stringify(input));
  if (answer) return JSON.parse(answer.stdout) as T;
  const child = spawn(join(CHECKOUT, 'ravand'), ['admin', ...args], { timeout: 120_000 });
  child.stdin.end(JSON.stringify(input));
  const [output, errors, code] = await Promise.all([
    buffer(child.stdout),
    buffer(child.stderr),
    new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    }),
  ]);
  if (code !== 0) throw new Error(errors.toString());
  return JSON.parse(output.toString()) as T;
}
