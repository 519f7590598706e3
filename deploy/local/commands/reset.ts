import { existsSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command } from '../../../cli/command.ts';
import { print } from '../../../cli/terminal.ts';
import { bringDown } from './down.ts';

export const reset: Command = {
  name: 'reset',
  summary: 'stops everything and deletes its data, spool, logs and demo keys (asks first)',
  usage: 'reset [--yes]',
  run: async (args, { home }) => {
    const { values } = parseLine({
      args,
      options: { yes: { type: 'boolean', short: 'y' } },
    });
    const paths = [
      home.data,
      home.spool,
      home.logs,
      home.run,
      home.demoFile,
      home.sealingKeyFile,
    ].filter((path) => existsSync(path));
    if (paths.length === 0) {
      print(`nothing to delete under ${home.dir}`);
      return 0;
    }
    if (
      values.yes !== true &&
      !(await confirm(`Delete all data of the stack in ${home.dir}? [y/N] `))
    ) {
      print('nothing was deleted');
      return 1;
    }
    print(await bringDown(home));
    for (const path of paths) rmSync(path, { recursive: true, force: true });
    print(`deleted the data of ${home.dir}`);
    return 0;
  },
};

async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new CommandError(
      'reset asks before it deletes, but standard input is no terminal: use ./ravand reset --yes',
    );
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^(y|yes)$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}
