import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command, type CommandContext } from '../../../cli/command.ts';
import { homeOf } from '../../../cli/stack/home.ts';
import { add, lastLine, NONE, type Counts } from '../test-run/counts.ts';
import { KINDS, runChecks, runKind, type Kind } from '../test-run/run.ts';
import { printError, print } from '../../../cli/terminal.ts';
import { bringDown } from './down.ts';
import { bringUp } from './up.ts';

const usage = `test [${KINDS.join('|')}] [--full]`;

export const test: Command = {
  name: 'test',
  summary: 'proves the system on a stack of its own; all kinds unless one is named',
  usage,
  run: async (args, context) => {
    const { values, words } = parseLine({
      args,
      options: { full: { type: 'boolean' } },
      usage,
      words: { min: 0, max: 1 },
    });
    const named = KINDS.find((kind) => kind === words[0]);
    if (words[0] !== undefined && named === undefined)
      throw new CommandError(
        `there is no kind of tests ${JSON.stringify(words[0])}: ${KINDS.join(', ')}`,
        2,
      );
    return await runTests({
      context,
      kinds: named === undefined ? KINDS : [named],
      full: values.full === true,
    });
  },
};

async function runTests({
  context,
  kinds,
  full,
}: {
  context: CommandContext;
  kinds: readonly Kind[];
  full: boolean;
}): Promise<number> {
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => interrupt.abort());
  const env: NodeJS.ProcessEnv = { ...context.env, ...(full ? { RAVAND_TEST_FULL: '1' } : {}) };
  delete env['RAVAND_HOME'];
  const run = { checkout: context.checkout, signal: interrupt.signal };

  let counts: Counts = NONE;
  if (kinds === KINDS) counts = add(counts, await runChecks({ ...run, env }));
  if (kinds.includes('unit')) counts = add(counts, await runKind('unit', { ...run, env }));
  const onStack = kinds.filter((kind) => kind !== 'unit');
  if (onStack.length > 0 && !interrupt.signal.aborted) {
    counts = add(
      counts,
      await withStack(context, env, async (stackEnv) => {
        let sum: Counts = NONE;
        for (const kind of onStack)
          if (!interrupt.signal.aborted)
            sum = add(sum, await runKind(kind, { ...run, env: stackEnv }));
        return sum;
      }),
    );
  }
  if (interrupt.signal.aborted) {
    printError('interrupted');
    counts = add(counts, { passed: 0, failed: counts.failed === 0 ? 1 : 0 });
  }
  print(lastLine(counts));
  return counts.failed === 0 ? 0 : 1;
}

/**
 * Brings up a stack under a home of its own, and takes it down whatever happens. Its files stay
 * when something failed.
 */
async function withStack(
  context: CommandContext,
  base: NodeJS.ProcessEnv,
  work: (env: NodeJS.ProcessEnv) => Promise<Counts>,
): Promise<Counts> {
  const dir = mkdtempSync(join(tmpdir(), 'ravand-test-'));
  // Port 0: any free one, so that a stack that runs beside it keeps 8080 to 8082.
  const env: NodeJS.ProcessEnv = {
    ...base,
    RAVAND_HOME: dir,
    HTTP_ADDR: base['HTTP_ADDR'] ?? 'localhost:0',
    PUBLIC_API_ADDR: base['PUBLIC_API_ADDR'] ?? 'localhost:0',
    PANEL_ADDR: base['PANEL_ADDR'] ?? 'localhost:0',
  };
  const home = homeOf({ checkout: context.checkout, env });
  let counts: Counts = { passed: 0, failed: 1 };
  try {
    const started = await bringUp({ ...context, home, env, detach: true, quiet: true });
    if (started === 0)
      counts = await work({
        ...env,
        HTTP_ADDR: undefined,
        PUBLIC_API_ADDR: undefined,
        PANEL_ADDR: undefined,
      });
    else printError('the tests on the stack were not run: it did not start');
  } finally {
    print(await bringDown(home));
    if (counts.failed === 0) rmSync(dir, { recursive: true, force: true });
    else printError(`the logs of the test stack stay in ${home.logs}`);
  }
  return counts;
}
