import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonFile } from '../../../cli/json-file.ts';
import { printError } from '../../../cli/terminal.ts';
import type { Kind, Selection } from './selection.ts';
import { countRun, type Counts, type VitestReport } from './counts.ts';

export interface Run {
  checkout: string;
  env: NodeJS.ProcessEnv;
  /** Aborted by Ctrl-C: the running tool gets SIGTERM. */
  signal: AbortSignal;
}

/** Runs tests of one kind; their output streams through. */
export async function runKind(
  { kind, files, without }: Selection,
  { checkout, env, signal }: Run,
): Promise<Counts> {
  const folder = join(checkout, '.ravand/cache/test');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${kind}-${process.pid}.json`);
  rmSync(file, { force: true });
  const args = [
    ...['run', '--project', kind, ...files, ...without.flatMap((path) => ['--exclude', path])],
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
  ];
  const exitCode = await runVitest(args, { checkout, env, signal });
  const counts = countRun({ report: readJsonFile<VitestReport>(file), exitCode });
  rmSync(file, { force: true });
  if (counts.passed === 0) printError(`no test of kind ${kind} passed: that counts as a failure`);
  return counts;
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
  const counts = { passed: 0, failed: 0 };
  await Promise.all(
    ['typecheck', 'lint', 'format'].map(async (script) => {
      const args = ['run', '--silent', script];
      const exitCode = await runTool({ command: 'npm', args, ...run });
      console.log(`${exitCode === 0 ? 'passed' : 'FAILED'}: npm run ${script}`);
      if (exitCode === 0) counts.passed++;
      else counts.failed++;
    }),
  );
  return counts;
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
