import { parseArgs } from 'node:util';
import { AdminRefusal, type AdminCommand, type AdminOptions } from './command.ts';

/**
 * Finds the command of a line and reads its options. Throws AdminRefusal with the usage for what is
 * unknown or missing.
 */
export function parseAdminLine(
  commands: readonly AdminCommand[],
  args: string[],
): { command: AdminCommand; input: AdminOptions } {
  const [group, verb = ''] = args;
  const command = commands.find(
    (one) => one.group === group && (one.verb === '' || one.verb === verb),
  );
  if (!command) {
    const known = commands.map((one) => `  ./ravand admin ${one.usage}`).join('\n');
    throw new AdminRefusal(
      `${group === undefined ? 'an admin command is missing' : `unknown admin command: ${`${group} ${verb}`.trim()}`}; there are\n${known}`,
    );
  }
  const rest = args.slice(command.verb === '' ? 1 : 2);
  const usage = `usage: ./ravand admin ${command.usage}`;
  const names = command.options.map((option) => option.replace(/[!*]$/, ''));
  let parsed;
  try {
    // A value such as -1 looks like an option: `--name -1` is joined before it is read.
    parsed = parseArgs({
      args: joinNegative(rest),
      options: Object.fromEntries(
        names.map((name) => [
          name,
          { type: 'string' as const, multiple: command.options.includes(`${name}*`) },
        ]),
      ),
      strict: true,
      allowPositionals: true,
    });
  } catch (error) {
    throw new AdminRefusal(`${((error as Error).message.split('. ')[0] ?? '').trim()}\n${usage}`);
  }
  const given = Object.entries(parsed.values).map(
    ([name, value]) => [name, Array.isArray(value) ? value.join('\n') : value] as const,
  );
  const options = Object.fromEntries(
    given.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
  const missing = command.options.find(
    (option) => option.endsWith('!') && options[option.slice(0, -1)] === undefined,
  );
  if (missing !== undefined)
    throw new AdminRefusal(`--${missing.slice(0, -1)} is missing\n${usage}`);
  if (command.words !== true && parsed.positionals.length > 0)
    throw new AdminRefusal(`unexpected ${parsed.positionals[0] ?? ''}\n${usage}`);
  return { command, input: { options, words: parsed.positionals } };
}

function joinNegative(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const previous = joined.at(-1);
    if (previous !== undefined && /^--[a-z-]+$/.test(previous) && /^-\d/.test(arg))
      joined[joined.length - 1] = `${previous}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}
