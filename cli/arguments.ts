import { parseArgs, type ParseArgsConfig } from 'node:util';
import { CommandError } from './command.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

interface Line<O extends Options> {
  args: string[];
  options: O;
  usage: string;
  /** How many words may follow beside the options. */
  words?: { min: number; max: number };
}

type Values<O extends Options> = ReturnType<
  typeof parseArgs<{ options: O; strict: true; allowPositionals: true }>
>['values'];

/**
 * Reads options and words of a command; what is unknown or missing becomes a Refusal with exit code
 * 2 that shows the usage.
 */
export function parseLine<O extends Options>({
  args,
  options,
  usage,
  words = { min: 0, max: 0 },
}: Line<O>): { values: Values<O>; words: string[] } {
  const refuse = (problem: string) => new CommandError(`${problem}\nusage: ./ravand ${usage}`, 2);
  let parsed;
  try {
    parsed = parseArgs({ args, options, strict: true, allowPositionals: true });
  } catch (error) {
    throw refuse(sentenceOf(error as Error));
  }
  const { values, positionals } = parsed;
  if (positionals.length < words.min) throw refuse('something is missing');
  if (positionals.length > words.max)
    throw refuse(`unexpected ${JSON.stringify(positionals[words.max])}`);
  return { values, words: positionals };
}

function sentenceOf(error: Error): string {
  const unknown = /^Unknown option '([^']+)'/.exec(error.message);
  if (unknown) return `unknown option ${unknown[1] ?? ''}`;
  return (error.message.split('. ')[0] ?? error.message).replace(/^Option/, 'option');
}
