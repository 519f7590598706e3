import { parseArgs, type ParseArgsConfig } from 'node:util';
import { CommandError, UsageError } from './command.ts';

type ParsedOptions = NonNullable<ParseArgsConfig['options']>;
export type Options = Readonly<Record<string, ParsedOptions[string] & { required?: boolean }>>;

/** An option with a value: one that must be given, one that may be, one that may be repeated. */
export const REQUIRED = { type: 'string', required: true } as const;
export const OPTIONAL = { type: 'string' } as const;
export const REPEATED = { type: 'string', multiple: true } as const;

type Parsed<O extends Options> = ReturnType<
  typeof parseArgs<{ options: O; strict: true; allowPositionals: true }>
>['values'];

/** A line that was read: its options by name, and its positional words. */
export interface Line<O extends Options> {
  values: Parsed<O> & {
    [Name in keyof O as O[Name] extends { required: true } ? Name : never]: string;
  };
  words: string[];
}

interface LineSpec<O extends Options> {
  args: string[];
  options: O;
  /** Of a nested command; for the others main.ts adds the usage of the row. */
  usage?: string;
  /** How many positional words are allowed. */
  words?: { min: number; max: number };
}

/**
 * Reads the options and words of a command. Throws a CommandError with exit code 2 for what is
 * unknown or missing.
 */
export function parseLine<const O extends Options>({
  args,
  options,
  usage,
  words = { min: 0, max: 0 },
}: LineSpec<O>): Line<O> {
  const refuse = (problem: string) =>
    usage === undefined
      ? new UsageError(problem)
      : new CommandError(`${problem}\nusage: ./ravand ${usage}`, 2);
  let parsed;
  try {
    parsed = parseArgs({
      args: joinNegativeValues(args, options),
      options,
      strict: true,
      allowPositionals: true,
    });
  } catch (error) {
    throw refuse(sentenceOf(error as Error));
  }
  const { values, positionals } = parsed;
  const given = new Set(Object.keys(values));
  const missing = Object.entries<Options[string]>(options).find(
    ([name, { required }]) => required === true && !given.has(name),
  )?.[0];
  if (missing !== undefined) throw refuse(`--${missing} is missing`);
  if (positionals.length < words.min) throw refuse('something is missing');
  if (positionals.length > words.max)
    throw refuse(`unexpected ${JSON.stringify(positionals[words.max])}`);
  return { values: values as Line<O>['values'], words: positionals };
}

/** parseArgs reads the value of `--days -1` as an option: this joins it to `--days=-1`. */
function joinNegativeValues(args: readonly string[], options: Options): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const previous = joined.at(-1) ?? '';
    const takesValue = previous.startsWith('--') && options[previous.slice(2)]?.type === 'string';
    if (takesValue && /^-\d/.test(arg)) joined[joined.length - 1] = `${previous}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}

function sentenceOf(error: Error): string {
  const unknown = /^Unknown option '([^']+)'/.exec(error.message);
  if (unknown) return `unknown option ${unknown[1] ?? ''}`;
  return (error.message.split('. ')[0] ?? error.message).replace(/^Option/, 'option');
}
