import { parseLine } from '../../../cli/arguments.ts';
import { CommandError } from '../../../cli/command.ts';

export interface AddressesLine {
  compare: boolean;
  swap: boolean;
  /** End a rebuild that was killed. */
  cancel: boolean;
  maxDiffering: number;
  acceptGaps: boolean;
  json: boolean;
}

/** Reads the line of `./ravand rebuild addresses`. Throws CommandError. */
export function parseAddressesLine(args: string[]): AddressesLine {
  const { values } = parseLine({
    args,
    words: { min: 1, max: 1 },
    options: {
      into: { type: 'string' },
      source: { type: 'string' },
      undo: { type: 'boolean' },
      compare: { type: 'boolean' },
      swap: { type: 'boolean' },
      cancel: { type: 'boolean' },
      'max-differing': { type: 'string' },
      'accept-gaps': { type: 'boolean' },
      json: { type: 'boolean' },
    },
  });
  const others = (['into', 'source', 'undo'] as const).find((name) => values[name] !== undefined);
  if (others !== undefined)
    throw new CommandError(
      `addresses are rebuilt from channel.commands beside the live tables, and a swap changes what differs: leave --${others} out`,
      2,
    );
  const { compare = false, swap = false, cancel = false } = values;
  if (cancel === (compare || swap))
    throw new CommandError(
      cancel
        ? '--cancel ends a rebuild that was killed: it goes with --json only'
        : 'give --compare, --swap or both: what a rebuild of addresses fills is dropped at its end',
      2,
    );
  const most = values['max-differing'];
  if (most !== undefined && !(/^\d+$/.test(most) && compare && swap))
    throw new CommandError(
      `--max-differing ${most}: expected a whole number, beside --compare and --swap`,
      2,
    );
  return {
    ...{ compare, swap, cancel, maxDiffering: Number(most ?? 0) },
    ...{ acceptGaps: values['accept-gaps'] === true, json: values.json === true },
  };
}
