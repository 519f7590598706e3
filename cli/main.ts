/**
 * `./ravand COMMAND …`: finds the command in the table and runs it. Exit codes: 0 done, 1 it did
 * not work, 2 the line cannot be understood.
 */
import { join } from 'node:path';
import { SettingsError } from '../platform/settings.ts';
import { CommandError, type Command, type CommandContext } from './command.ts';
import { commands } from './commands.ts';
import { homeOf } from './stack/home.ts';
import { readReady } from './stack/ready.ts';
import { printError, paint, print, table } from './terminal.ts';

const checkout = join(import.meta.dirname, '..');

function help(): void {
  print(
    `${paint('bold', 'Ravand')}: every event once, in order, into reports that can be trusted.\n`,
  );
  for (const line of table(
    ['command', ''],
    commands.map((command) => [`./ravand ${command.name}`, command.summary]),
  ))
    print(`  ${line}`);
  print(
    `\n./ravand COMMAND --help shows the options. RAVAND_HOME chooses the stack; settings are environment variables: docs/settings.md.`,
  );
}

async function main(): Promise<number> {
  const [name, ...args] = process.argv.slice(2);
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    help();
    return 0;
  }
  const command: Command | undefined = commands.find((one) => one.name === name);
  if (command === undefined)
    throw new CommandError(
      `there is no command ${JSON.stringify(name)}: ./ravand help lists them`,
      2,
    );
  if (args[0] === '--help' || args[0] === '-h') {
    print(`usage: ./ravand ${command.usage}\n${command.summary}`);
    return 0;
  }
  const home = homeOf({ checkout, env: process.env });
  const context: CommandContext = {
    home,
    checkout,
    env: process.env,
    ready: () => readReady(home),
  };
  return await command.run(args, context);
}

// A reader that went away (`./ravand logs | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? 0 : 1),
);

let exitCode: number;
try {
  exitCode = await main();
} catch (error) {
  if (!(error instanceof CommandError || error instanceof SettingsError)) throw error;
  printError(error.message);
  exitCode = error instanceof CommandError ? error.exitCode : 1;
}
// A client that still tries to reach a dead server must not keep the command alive; what was
// printed goes out first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
