import { parseLine } from '../cli/arguments.ts';
import { CommandError } from '../cli/command.ts';

/**
 * The options of a benchmark that has numbers alone, from the command line.
 * @param name of the benchmark
 * @param defaults by option
 */
export function numericOptions<Name extends string>(
  name: string,
  defaults: Readonly<Record<Name, number>>,
  args = process.argv.slice(2),
): Record<Name, number> {
  const given = Object.entries<number>(defaults);
  const { values } = parseLine({
    args,
    usage: `bench ${name} -- ${given.map(([option]) => `[--${option} N]`).join(' ')}`,
    options: Object.fromEntries(
      given.map(([option, value]) => [option, { type: 'string', default: String(value) } as const]),
    ),
  });
  return Object.fromEntries(
    Object.entries(values).map(([option, text]) => [option, parsed(option, text)]),
  ) as Record<Name, number>;
}

/**
 * The number of an option. Throws a CommandError where it is none; read it before anything is sent:
 * NaN as a rate or a duration is a load without a limit or an end.
 */
export function numberOf<Name extends string>(
  values: Readonly<Record<Name, string>>,
  name: Name,
): number {
  return parsed(name, values[name]);
}

/** Those of an option that has them with commas between. */
export function numbersOf<Name extends string>(
  values: Readonly<Record<Name, string>>,
  name: Name,
): number[] {
  return values[name].split(',').map((text) => parsed(name, text));
}

function parsed(name: string, text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number) || number < 0)
    throw new CommandError(
      `--${name} ${text}: give a number that is not negative, such as 1000`,
      2,
    );
  return number;
}
