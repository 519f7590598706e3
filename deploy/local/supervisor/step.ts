import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Step } from '../services/service.ts';
import { note, openLog } from './log-file.ts';

/** The log of all setup steps. */
export const STEP_LOG = 'setup';
const ATTEMPTS = 3;
const PAUSE_MS = 1000;

interface Options {
  step: Step;
  logs: string;
  env: NodeJS.ProcessEnv;
  cwd: string;
  signal: AbortSignal;
}

/** Runs a setup step with retries, as a new server may refuse connections for a moment. */
export async function runStep(options: Options): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await runOnce(options);
      return;
    } catch (error) {
      note(
        options.logs,
        STEP_LOG,
        `${options.step.name}: attempt ${attempt} of ${ATTEMPTS} failed: ${(error as Error).message}`,
      );
      if (attempt >= ATTEMPTS || options.signal.aborted) throw error;
      await wait(PAUSE_MS);
    }
  }
}

async function runOnce({ step, logs, env, cwd, signal }: Options): Promise<void> {
  note(logs, STEP_LOG, `${step.name}: ${step.title}`);
  const log = openLog(logs, STEP_LOG);
  const child = spawn(step.launch.command, step.launch.args, {
    cwd,
    env: { ...env, ...step.launch.env },
    stdio: ['ignore', log, log],
    signal,
    timeout: step.timeoutMs,
    killSignal: 'SIGKILL',
  });
  closeSync(log);
  const [code, killed] = (await once(child, 'exit')) as [number | null, string | null];
  if (killed !== null)
    throw new Error(`ended by ${killed} (its limit is ${step.timeoutMs / 1000} s)`);
  if (code !== 0) throw new Error(`exit code ${code ?? 'unknown'}`);
}
