import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command } from '../../../cli/command.ts';
import type { Home } from '../../../cli/stack/home.ts';
import { print } from '../../../cli/terminal.ts';
import { bringDown } from './down.ts';

export const reset: Command = {
  name: 'reset',
  summary: 'stops everything and deletes its data, exports, spool, logs and keys (asks first)',
  usage: 'reset [--yes]',
  run: async (args, { home, env }) => {
    const { values } = parseLine({
      args,
      options: { yes: { type: 'boolean', short: 'y' } },
    });
    const left = foldersElsewhere(env);
    const paths = pathsOf(home).filter((path) => existsSync(path));
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
    for (const folder of left)
      print(`${folder} is outside of it and may hold personal data: delete it yourself`);
    return 0;
  },
};

/** Everything that a stack writes, whatever it is: all of it may hold personal data or keys. */
function pathsOf(home: Home): string[] {
  return Object.values<string>({ ...home }).filter((path) => path !== home.dir);
}

/** Folders that settings place elsewhere, and that exist: "EXPORT_DIR /exports". */
function foldersElsewhere(env: NodeJS.ProcessEnv): string[] {
  return ['EXPORT_DIR', 'SPOOL_DIR'].flatMap((name) => {
    const folder = env[name]?.trim() ?? '';
    return folder !== '' && existsSync(folder) ? [`${name} ${resolve(folder)}`] : [];
  });
}

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
