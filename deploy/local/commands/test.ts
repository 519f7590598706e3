import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseLine } from '../../../cli/arguments.ts';
import type { Command, CommandContext } from '../../../cli/command.ts';
import { homeOf } from '../../../cli/stack/home.ts';
import { add, failure, lastLines, NONE, type Counts } from '../test-run/counts.ts';
import { runQueue } from '../test-run/beside.ts';
import { StackScheduler } from '../test-run/stack-scheduler.ts';
import { runChecks, runKind, watchTests, type Run } from '../test-run/run.ts';
import { KINDS, selectTests, stackSettings, type Selection } from '../test-run/selection.ts';
import { printError, print } from '../../../cli/terminal.ts';
import { bringDown } from './down.ts';
import { bringUp } from './up.ts';

export const test: Command = {
  name: 'test',
  summary: 'tests everything, one kind, or files; on a stack of its own where they need one',
  usage: `test [${KINDS.join('|')} | FILE…] [--watch] [--full]`,
  run: async (args, context) => {
    const { values, words } = parseLine({
      args,
      options: { full: { type: 'boolean' }, watch: { type: 'boolean' } },
      words: { min: 0, max: Number.POSITIVE_INFINITY },
    });
    const { checkout } = context;
    const isFull = values.full === true;
    const selections = selectTests(words, { checkout, cwd: process.cwd(), isFull });
    const interrupt = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => interrupt.abort());
    const env: NodeJS.ProcessEnv = {
      ...context.env,
      ...(isFull ? { RAVAND_TEST_FULL: '1' } : {}),
    };
    delete env['RAVAND_HOME'];
    const run = { checkout, env, signal: interrupt.signal };
    return values.watch === true
      ? await watchSelected(context, selections, run)
      : await runSelected(context, { selections, checks: words.length === 0, isFull }, run);
  },
};

/**
 * Without --watch: static checks beside unit tests when everything runs, then the others on a
 * stack. Those that mostly wait share a second stack, and those that change the log for good have a
 * stack each. These are a queue that is worked off after the first stack, and beside it while the
 * machine has time for that. The full forms measure, and have the machine for themselves.
 */
async function runSelected(
  context: CommandContext,
  of: { selections: readonly Selection[]; checks: boolean; isFull: boolean },
  run: Run,
): Promise<number> {
  const { selections, checks, isFull } = of;
  let counts: Counts = NONE;
  const first = selections.filter(({ kind }) => kind === 'unit').map((unit) => runKind(unit, run));
  if (checks) first.push(runChecks(run));
  counts = (await Promise.all(first)).reduce(add, counts);
  const onStack = selections.filter(({ kind }) => kind !== 'unit');
  const shared = onStack.filter(({ stack }) => stack === 'shared');
  const second = onStack.filter(({ stack }) => stack === 'second');
  const own = onStack.filter(({ stack }) => stack === 'own');
  const queue = [second, ...own.map((one) => [one])]
    .map((stack) => stack.flatMap(({ files }) => files))
    .filter((files) => files.length > 0);
  if (!run.signal.aborted && shared.length > 0 && queue.length > 0 && !isFull) {
    const scheduler = new StackScheduler();
    const inFront = async () =>
      add(
        await scheduler.run(() => runOnStack(context, shared, run), run.signal),
        await runQueue(queue, { ...run, scheduler }),
      );
    const both = [inFront(), runQueue(queue, { ...run, scheduler })];
    counts = (await Promise.all(both)).reduce(add, counts);
  } else {
    for (const stack of [shared, second, ...own.map((one) => [one])])
      if (stack.length > 0 && !run.signal.aborted)
        counts = add(counts, await runOnStack(context, stack, run));
  }
  if (run.signal.aborted) {
    printError('interrupted');
    if (counts.failed === 0) counts = add(counts, failure('interrupted'));
  }
  print(lastLines(counts));
  return counts.failed === 0 ? 0 : 1;
}

/** Runs selections one after the other on one stack. */
function runOnStack(
  context: CommandContext,
  selections: readonly Selection[],
  run: Run,
): Promise<Counts> {
  const settings = stackSettings(selections, run.checkout);
  return withStack(context, { ...run.env, ...settings }, async (env) => {
    let sum: Counts = NONE;
    for (const selection of selections)
      if (!run.signal.aborted) sum = add(sum, await runKind(selection, { ...run, env }));
    return sum;
  });
}

async function watchSelected(
  context: CommandContext,
  selections: readonly Selection[],
  run: Run,
): Promise<number> {
  if (selections.every(({ kind }) => kind === 'unit')) return await watchTests(selections, run);
  const counts = await withStack(context, run.env, async (env) => {
    await watchTests(selections, { ...run, env });
    return NONE;
  });
  return counts.failed === 0 ? 0 : 1;
}

/**
 * Starts a stack in a home of its own, and always stops it. Its files are kept when something
 * failed.
 */
async function withStack(
  context: CommandContext,
  base: NodeJS.ProcessEnv,
  work: (env: NodeJS.ProcessEnv) => Promise<Counts>,
): Promise<Counts> {
  const dir = mkdtempSync(join(tmpdir(), 'ravand-test-'));
  // Port 0: any free one, so that another stack keeps 8080 to 8082.
  const env: NodeJS.ProcessEnv = {
    ...base,
    RAVAND_HOME: dir,
    HTTP_ADDR: base['HTTP_ADDR'] ?? 'localhost:0',
    PUBLIC_API_ADDR: base['PUBLIC_API_ADDR'] ?? 'localhost:0',
    PANEL_ADDR: base['PANEL_ADDR'] ?? 'localhost:0',
    // tests send a person's events one after the other, and wait for the profile after each
    PROFILES_INTERVAL: base['PROFILES_INTERVAL'] ?? '1s',
  };
  const home = homeOf({ checkout: context.checkout, env });
  let counts = failure('the stack of the tests did not start');
  try {
    const started = await bringUp({ ...context, home, env, detach: true, quiet: true });
    if (started === 0)
      counts = await work({
        ...env,
        HTTP_ADDR: undefined,
        PUBLIC_API_ADDR: undefined,
        PANEL_ADDR: undefined,
      });
    else printError('the stack of the tests did not start: tests that need it were not run');
  } finally {
    print(await bringDown(home));
    if (counts.failed === 0) rmSync(dir, { recursive: true, force: true });
    else printError(`the logs of the test stack are in ${home.logs}`);
  }
  return counts;
}
