import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonFile } from '../../../cli/json-file.ts';
import { print, printError } from '../../../cli/terminal.ts';
import { OUTSIDE_ERRORS, readOutsideErrors } from './outside-errors.ts';
import type { Kind, Selection } from './selection.ts';
import {
  add,
  countAgain,
  countIsolated,
  countRun,
  failedFiles,
  failure,
  NONE,
  type Counts,
  type VitestReport,
  type VitestRun,
} from './counts.ts';

export interface Run {
  checkout: string;
  env: NodeJS.ProcessEnv;
  /** Aborted by Ctrl-C: the running tool gets SIGTERM. */
  signal: AbortSignal;
}

/** Set to 1, each file of unit tests has a process of its own (vitest.config.ts). */
const ISOLATE = 'RAVAND_TEST_ISOLATE';

/** When more files failed, it was not chance. */
const MAX_FILES_AGAIN = 5;

/**
 * Runs tests of one kind; their output streams through. Files that failed run once more, by
 * themselves, because a machine that does other work breaks bounds that hold otherwise: what passes
 * then is reported as unsteady, and does not fail the run. Guarantees have one chance.
 * Unit tests share processes (vitest.config.ts): after errors outside of tests all run once more,
 * each file in a process of its own.
 */
export async function runKind(selection: Selection, run: Run): Promise<Counts> {
  const { kind } = selection;
  const of = { kind, checkout: run.checkout };
  const first = await runVitestOnce(selection, run);
  const counts = countRun(first, of);
  if (counts.passed === 0) printError(`no test of kind ${kind} passed: that counts as a failure`);
  const files = failedFiles(first);
  const isFew = files.length <= MAX_FILES_AGAIN && !run.signal.aborted;
  if (kind === 'unit' && first.report && first.errors.length > 0 && isFew) {
    print('once more, each file in a process of its own: the error may be of an earlier file');
    const env = { ...run.env, [ISOLATE]: '1' };
    return countIsolated(counts, countRun(await runVitestOnce(selection, { ...run, env }), of));
  }
  const isWorthwhile = files.length > 0 && isFew;
  if (kind === 'guarantees' || !isWorthwhile || counts.failed < files.length) return counts;
  print(`once more: ${files.join(' ')}`);
  const again = await runVitestOnce({ ...selection, files, without: [] }, run);
  return countAgain({ first, counts, again: countRun(again, of) }, of);
}

/** Vitest's report, its exit code, and errors outside of tests. */
async function runVitestOnce(
  { kind, files, without }: Selection,
  { checkout, env, signal }: Run,
): Promise<VitestRun> {
  const folder = join(checkout, '.ravand/cache/test');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${kind}-${process.pid}.json`);
  const outside = `${file}.errors`;
  const remove = () => [file, outside].forEach((path) => rmSync(path, { force: true }));
  remove();
  const args = [
    ...['run', '--project', kind, ...files, ...without.flatMap((path) => ['--exclude', path])],
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
  ];
  const exitCode = await runVitest(args, {
    ...{ checkout, signal },
    env: { ...env, [OUTSIDE_ERRORS]: outside },
  });
  const report = readJsonFile<VitestReport>(file);
  const errors = readOutsideErrors(outside);
  remove();
  return { report, exitCode, errors };
}

/** Runs the selected tests again after each change of a file, until Ctrl-C. */
export async function watchTests(selections: readonly Selection[], run: Run): Promise<number> {
  const kinds: Kind[] = selections.map(({ kind }) => kind);
  const files = selections.flatMap((one) => one.files);
  const projects = kinds.flatMap((kind) => ['--project', kind]);
  const args = ['watch', ...projects, ...files];
  return (await runVitest(args, { ...run, stdin: 'inherit' })) ?? 1;
}

function runVitest(args: string[], run: Omit<Tool, 'command' | 'args'>): Promise<number | null> {
  const vitest = join(run.checkout, 'node_modules/vitest/vitest.mjs');
  return runTool({ command: process.execPath, args: [vitest, ...args], ...run });
}

/** Types, lint and formatting, at the same time: each counts as one test. */
export async function runChecks(run: Run): Promise<Counts> {
  const results = await Promise.all(
    ['typecheck', 'lint', 'format'].map(async (script) => {
      const args = ['run', '--silent', script];
      const exitCode = await runTool({ command: 'npm', args, ...run });
      print(`${exitCode === 0 ? 'passed' : 'failed'}: npm run ${script}`);
      return exitCode === 0 ? { ...NONE, passed: 1 } : failure(`npm run ${script}`);
    }),
  );
  return results.reduce(add, NONE);
}

interface Tool extends Run {
  command: string;
  args: string[];
  stdin?: 'inherit' | 'ignore';
}

async function runTool(tool: Tool): Promise<number | null> {
  const { command, args, checkout, env, signal, stdin = 'ignore' } = tool;
  if (signal.aborted) return null;
  // Some tools print colours on CI systems even when the output is a file.
  const plain = process.stdout.isTTY || env['FORCE_COLOR'] !== undefined ? {} : { NO_COLOR: '1' };
  const child = spawn(command, args, {
    cwd: checkout,
    env: { ...env, ...plain },
    stdio: [stdin, 'inherit', 'inherit'],
  });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [exitCode] = (await once(child, 'exit')) as [number | null];
    return exitCode;
  } catch (error) {
    printError(`${command}: ${(error as Error).message}`);
    return null;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
