import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Value } from 'typebox/value';
import { CommandReport } from '../../platform/operations/operation-wait.ts';
import type { CommandEnd } from './result-of.ts';

const CLI = join(import.meta.dirname, '../../cli/main.ts');
/** Of each stream, bytes: the result is one line at the end. */
const MAX_OUTPUT = 256 * 1024;
/** From a stop to the kill of a command that does not stop, ms. */
const KILL_MS = 10_000;

export interface RunOptions {
  stop: AbortSignal;
  /** How its work stands. */
  onReport: (report: CommandReport) => void;
}

/**
 * Runs `./ravand …` as a process of its own, so that a member's operation and an operator's command
 * are the same. `stop` ends it with SIGTERM, after which the same command continues. The channel to
 * it closes when this process dies, which ends it as well (cli/with-parent.ts).
 */
export async function runCommand(
  line: readonly string[],
  { env, stop, onReport }: RunOptions & { env: NodeJS.ProcessEnv },
): Promise<CommandEnd> {
  const child = spawn(process.execPath, ['--max-semi-space-size=2', CLI, ...line], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  child.on('message', (message) => {
    if (Value.Check(CommandReport, message)) onReport(message);
  });
  let kill: NodeJS.Timeout | undefined;
  const onStop = () => {
    child.kill('SIGTERM');
    kill = setTimeout(() => child.kill('SIGKILL'), KILL_MS);
  };
  if (stop.aborted) onStop();
  else stop.addEventListener('abort', onStop, { once: true });
  try {
    const [stdout, stderr, code] = await Promise.all([
      tail(child.stdout),
      tail(child.stderr),
      new Promise<number | undefined>((resolve, reject) => {
        child.on('error', reject);
        child.on('close', (ended) => resolve(ended ?? undefined));
      }),
    ]);
    return { code, stdout, stderr, isStopped: stop.aborted };
  } finally {
    clearTimeout(kill);
    stop.removeEventListener('abort', onStop);
  }
}

/** The end of a stream. */
async function tail(stream: Readable | null): Promise<string> {
  let text = '';
  if (!stream) return text;
  stream.setEncoding('utf8');
  for await (const part of stream) text = `${text}${String(part)}`.slice(-MAX_OUTPUT);
  return text;
}
