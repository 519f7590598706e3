import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** An error that belongs to no test: an unhandled rejection, a worker that died. */
export interface OutsideError {
  /** The file that ran then; empty: unknown. */
  file: string;
  message: string;
}

/** The file to which vitest.config.ts adds them, for `./ravand test`: vitest's report has none. */
export const OUTSIDE_ERRORS = 'RAVAND_TEST_OUTSIDE_ERRORS';

/** Vitest's `onUnhandledError`: the run fails as it does without. */
export function recordOutsideError(error: object): void {
  const path = process.env[OUTSIDE_ERRORS];
  if (path === undefined) return;
  const { message, stack, VITEST_TEST_PATH: file } = error as Record<string, unknown>;
  const text = [stack, message].find((one) => typeof one === 'string') ?? JSON.stringify(error);
  const line = { file: typeof file === 'string' ? file : '', message: text };
  appendFileSync(path, `${JSON.stringify(line)}\n`);
}

export function readOutsideErrors(path: string): OutsideError[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as OutsideError);
}
