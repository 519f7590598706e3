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
  /** The value, or the password of a URL, is never shown. */
  secret: boolean;
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
    const text = env[name]?.trim() ?? '';
    if (text === '') {
      values[name] = setting.fallback;
      continue;
    }
    if (setting.secret) rememberSecret(text);
    try {
      values[name] = setting.parse(text);
    } catch (error) {
      const shown = setting.secret ? '(hidden)' : text;
      problems.push(redactText(`${name}=${shown}: expected ${(error as Error).message}`));
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return Object.freeze(values) as SettingsOf<Table>;
}
