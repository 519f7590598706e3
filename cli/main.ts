/** `./ravand COMMAND …`. Exit codes: 0 done, 1 failed, 2 the line cannot be understood. */
import { join } from 'node:path';
import { SettingsError } from '../platform/settings.ts';
import { CommandError, findCommand, UsageError, type CommandContext } from './command.ts';
import { commands } from './commands.ts';
import { endWithParent } from './with-parent.ts';
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
  const { env } = process;
  const home = homeOf({ checkout, env });
  const context: CommandContext = { home, checkout, env, ready: () => readReady(home) };
  try {
    return await command.run(rest, context);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new CommandError(`${error.message}\nusage: ./ravand ${command.usage}`, 2);
  }
}

// A reader that closes the pipe (`./ravand logs | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? 0 : 1),
);

endWithParent();
let exitCode: number;
try {
  exitCode = await main();
} catch (error) {
  // The stack without the fields of an error: clients add commands with their passwords.
  const isExpected =
    error instanceof CommandError ||
    error instanceof SettingsError ||
    // Of schemas/codec.ts, which only some commands load: a newer release wrote the log.
    (error instanceof Error && error.name === 'UnreadableRecord');
  printError(
    error instanceof CommandError
      ? error.message
      : isExpected || !(error instanceof Error)
        ? String(error)
        : (error.stack ?? error.message),
  );
  exitCode = error instanceof CommandError ? error.exitCode : 1;
}
// Exits although a client still reconnects to a dead server, after what was printed is written.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
