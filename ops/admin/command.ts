import type { Line, Options } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import type { Database } from '../../platform/postgres/pool.ts';

export interface AdminContext {
  database: Database;
  kafka: KafkaSettings;
  /** The environment with the addresses of the running stack: commands read settings from it. */
  env: NodeJS.ProcessEnv;
}

/**
 * One row of the table of admin commands: `./ravand admin NAME …` prints what `run` returns as one
 * JSON object.
 */
export interface AdminCommand<O extends Options = Options> {
  /** Group and verb, such as "account create". */
  name: string;
  usage: string;
  options: O;
  /** How many positional words are allowed; none when absent. */
  words?: { min: number; max: number };
  /** False: it needs no server, and must not use the database. */
  needsStack?: false;
  run(line: Line<O>, context: AdminContext): Promise<Record<string, unknown>>;
}

/** Keeps the types of the options for `run`. */
export function adminCommand<const O extends Options>(command: AdminCommand<O>): AdminCommand {
  return command;
}

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** A whole positive number given by an option. Throws CommandError. */
export function idOption(values: Values, name: string): number {
  const text = String(values[name] ?? '');
  if (!/^[1-9]\d{0,15}$/.test(text))
    throw new CommandError(`--${name} ${text}: expected an id, a whole number from 1`);
  return Number(text);
}

/** Throws CommandError when there is no such account. */
export async function requireAccount(database: Pick<Database, 'query'>, id: number): Promise<void> {
  const found = await database.query('SELECT 1 FROM accounts WHERE id = $1', [id]);
  if (found.rows.length === 0) throw new CommandError(`there is no account ${id}`);
}

/** A text that is not blank. Throws CommandError. */
export function textOption(values: Values, name: string): string {
  const text = String(values[name] ?? '').trim();
  if (text === '') throw new CommandError(`--${name} is blank: give a name`);
  if (text.length > 200) throw new CommandError(`--${name} is longer than 200 characters`);
  return text;
}
