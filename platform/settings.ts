import { readFileSync } from 'node:fs';
import { rememberSecret } from './redaction/known-secrets.ts';
import { redactText } from './redaction/redact-text.ts';

/**
 * One setting: how its text is read, its default, its unit and its description.
 */
export interface Setting<T> {
  /**
   * Reads the text of an environment variable; throws an Error that says what is expected.
   */
  parse(text: string): T;
  /** Value when the variable is absent or empty. */
  fallback: T;
  /** The default as docs/settings.md shows it. */
  fallbackText: string;
  unit: string;
  doc: string;
  /**
   * The value, or the password of a URL, is never shown. NAME_FILE may name a file with it.
   */
  secret: boolean;
  /**
   * What is wrong with the value beside other settings of the same table, and what to do;
   * undefined: nothing. Called when all values could be read, also for the fallback.
   */
  problem?(value: unknown, values: Readonly<Record<string, unknown>>): string | undefined;
}

export type SettingsTable = Record<string, Setting<unknown>>;
export type SettingsOf<Table extends SettingsTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Setting<infer T> ? T : never;
};

/** All problems of the environment in one error: variable, value, what is expected. */
export class SettingsError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`settings that cannot be read:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/** Keeps the types of a table of settings. */
export function defineSettings<Table extends SettingsTable>(table: Table): Table {
  return table;
}

/**
 * Reads a table of settings from an environment. Throws SettingsError. Remembers secret values,
 * so that no log of this process contains one.
 */
export function parseSettings<Table extends SettingsTable>(
  table: Table,
  env: NodeJS.ProcessEnv,
): SettingsOf<Table> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    const given = textOf(name, setting.secret, env);
    if ('problem' in given) {
      problems.push(given.problem);
      continue;
    }
    const { text, source } = given;
    if (text === '') {
      values[name] = setting.fallback;
      continue;
    }
    if (setting.secret) rememberSecret(text);
    try {
      values[name] = setting.parse(text);
    } catch (error) {
      problems.push(redactText(`${source}: expected ${(error as Error).message}`));
    }
  }
  if (problems.length === 0) problems.push(...problemsTogether(table, values));
  if (problems.length > 0) throw new SettingsError(problems);
  return Object.freeze(values) as SettingsOf<Table>;
}

function problemsTogether(table: SettingsTable, values: Record<string, unknown>): string[] {
  return Object.entries(table).flatMap(([name, setting]) => {
    const problem = setting.problem?.(values[name], values);
    return problem === undefined ? [] : [redactText(`${name}: ${problem}`)];
  });
}

/** The text of a setting, and how a message shows where it comes from. */
function textOf(
  name: string,
  isSecret: boolean,
  env: NodeJS.ProcessEnv,
): { text: string; source: string } | { problem: string } {
  const text = env[name]?.trim() ?? '';
  if (!isSecret) return { text, source: `${name}=${text}` };
  const file = secretFileOf(name);
  const path = env[file]?.trim() ?? '';
  if (path === '') return { text, source: `${name}=(hidden)` };
  const source = `${file}=${path}`;
  if (text !== '')
    return { problem: `${source}: ${name} is set as well; remove one of the two variables` };
  try {
    const content = readFileSync(path, 'utf8').trim();
    if (content === '') return { problem: `${source}: the file is empty; write the value into it` };
    return { text: content, source: `${source} (hidden)` };
  } catch (error) {
    return {
      problem: `${source}: expected a file that this process can read (${(error as Error).message})`,
    };
  }
}

/** The variable that names a file with the value of a secret setting. */
export function secretFileOf(name: string): string {
  return `${name}_FILE`;
}

/** The variables that a table reads: its settings, and the files of its secrets. */
export function variablesOf(table: SettingsTable): string[] {
  return Object.entries(table).flatMap(([name, { secret }]) =>
    secret ? [name, secretFileOf(name)] : [name],
  );
}

/**
 * The environment with these values instead of its own, from variables or from files. An undefined
 * value removes the setting.
 */
export function withValues(
  env: NodeJS.ProcessEnv,
  values: Readonly<Record<string, string | undefined>>,
): NodeJS.ProcessEnv {
  const replaced = new Set(Object.keys(values).flatMap((name) => [name, secretFileOf(name)]));
  const kept = Object.entries(env).filter(([name]) => !replaced.has(name));
  return { ...Object.fromEntries(kept), ...values };
}
