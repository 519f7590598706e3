import { join } from 'node:path';
import { SettingsError } from '../platform/settings.ts';
import {
  CommandError,
  findCommand,
  UsageError,
  type Command,
  type CommandContext,
} from './command.ts';
import { homeOf } from './stack/home.ts';
import { readReady } from './stack/ready.ts';
import { printError, paint, print, table } from './terminal.ts';

const checkout = join(import.meta.dirname, '..');

interface Line {
  args: readonly string[];
  commands: readonly Command[];
  env: NodeJS.ProcessEnv;
}

/**
 * Runs `./ravand COMMAND …`, prints why when it fails, and returns the exit code: 0 done, 1 failed,
 * 2 the line cannot be understood.
 */
export async function runLine(line: Line): Promise<number> {
  try {
    return await runCommand(line);
  } catch (error) {
    printError(sentence(error));
    return error instanceof CommandError ? error.exitCode : 1;
  }
}

async function runCommand({ args: line, commands, env }: Line): Promise<number> {
  const [name, ...args] = line;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    help(commands);
    return 0;
  }
  const found = findCommand(commands, [name, ...args]);
  if (found === undefined)
    throw new CommandError(
      `there is no command ${JSON.stringify(name)}: ./ravand help lists them`,
      2,
    );
  const { command, rest } = found;
  if (rest[0] === '--help' || rest[0] === '-h') {
    print(`usage: ./ravand ${command.usage}\n${command.summary}`);
    return 0;
  }
  const home = homeOf({ checkout, env });
  const context: CommandContext = { home, checkout, env, ready: () => readReady(home) };
  try {
    return await command.run(rest, context);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new CommandError(`${error.message}\nusage: ./ravand ${command.usage}`, 2);
  }
}

function help(commands: readonly Command[]): void {
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

/** The stack without the fields of an error: clients add commands with their passwords. */
function sentence(error: unknown): string {
  if (error instanceof CommandError) return error.message;
  const isExpected =
    error instanceof SettingsError ||
    // Of schemas/codec.ts, which only some commands load: a newer release wrote the log.
    (error instanceof Error && error.name === 'UnreadableRecord');
  return isExpected || !(error instanceof Error) ? String(error) : (error.stack ?? error.message);
}
