import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** A request that cannot be served: one sentence for the person who typed it, exit code 1. */
export class AdminRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AdminRefusal';
  }
}

export interface AdminOptions {
  /** Values of `--name VALUE`, by name. */
  options: Readonly<Record<string, string>>;
  /** What follows beside the options. */
  words: readonly string[];
}

/** What a command may need beside the database. */
export interface AdminSurroundings {
  kafka: KafkaSettings;
  /**
   * The environment, with the addresses of the stack that runs here: a command reads the settings
   * of what it needs from it.
   */
  env: NodeJS.ProcessEnv;
}

/**
 * One row of the table of admin commands: `./ravand admin <group> <verb> …` prints the answer of
 * `run` as one JSON object.
 */
export interface AdminCommand {
  group: string;
  /** Empty: the group alone is the command. */
  verb: string;
  usage: string;
  /**
   * Option names; those with `!` must be given, those with `*` may be repeated: their values are
   * joined by line breaks.
   */
  options: readonly string[];
  /** It asks no server: `database` must not be used. */
  needsNoStack?: boolean;
  /** Words may follow beside the options. */
  words?: boolean;
  run(
    input: AdminOptions,
    database: Database,
    surroundings: AdminSurroundings,
  ): Promise<Record<string, unknown>>;
}

/** A whole positive number given by an option. Throws AdminRefusal. */
export function idOption(input: AdminOptions, name: string): number {
  const text = input.options[name] ?? '';
  const id = Number(text);
  if (!/^[1-9]\d{0,15}$/.test(text))
    throw new AdminRefusal(`--${name} ${text}: expected an id, a whole number from 1`);
  return id;
}

/** Throws AdminRefusal when there is no such account. */
export async function requireAccount(database: Pick<Database, 'query'>, id: number): Promise<void> {
  const found = await database.query('SELECT 1 FROM accounts WHERE id = $1', [id]);
  if (found.rowCount === 0) throw new AdminRefusal(`there is no account ${id}`);
}

/** A text that is not blank. Throws AdminRefusal. */
export function textOption(input: AdminOptions, name: string): string {
  const text = (input.options[name] ?? '').trim();
  if (text === '') throw new AdminRefusal(`--${name} is blank: give a name`);
  if (text.length > 200) throw new AdminRefusal(`--${name} is longer than 200 characters`);
  return text;
}
