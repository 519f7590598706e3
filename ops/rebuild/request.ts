import { parseLine } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { tableSuffix } from '../replay/request.ts';
import { PROJECTIONS, type ProjectionName } from '../../schemas/topology.ts';
import { PROJECTION } from './projections.ts';

const PROJECTION_NAMES = Object.keys(PROJECTIONS) as ProjectionName[];

/**
 * The log that a table is filled from. `raw`: today's normalisation computes the rows again.
 * `normalised`: the rows as they were published.
 */
export type RebuildSource = 'raw' | 'normalised';

export interface RebuildLine {
  projection: ProjectionName;
  suffix: string;
  source: RebuildSource;
  compare: boolean;
  swap: boolean;
  /** End the job and drop its table. */
  cancel: boolean;
  /** Exchange the table that the last swap replaced with the live one again. */
  undo: boolean;
  /** A swap with --compare is refused above this number of differing units. */
  maxDiffering: number;
  /** Swap although the log or its verdicts do not reach back far enough. */
  acceptGaps: boolean;
  json: boolean;
}

/** Reads the line of `./ravand rebuild`. Throws CommandError. */
export function parseRebuildLine(args: string[]): RebuildLine {
  const { values, words } = parseLine({
    args,
    words: { min: 1, max: 1 },
    options: {
      into: { type: 'string' },
      source: { type: 'string' },
      compare: { type: 'boolean' },
      swap: { type: 'boolean' },
      cancel: { type: 'boolean' },
      undo: { type: 'boolean' },
      'max-differing': { type: 'string' },
      'accept-gaps': { type: 'boolean' },
      json: { type: 'boolean' },
    },
  });
  const projection = PROJECTION_NAMES.find((one) => one === words[0]);
  if (projection === undefined)
    throw new CommandError(
      `there is no projection ${JSON.stringify(words[0])}: ${[...PROJECTION_NAMES, 'addresses'].join(', ')}`,
      2,
    );
  const { source = 'raw' } = values;
  if (source !== 'raw' && source !== 'normalised')
    throw new CommandError(`--source ${source}: raw or normalised`, 2);
  const { isOfOwnTopic, topic } = PROJECTION[projection];
  if (isOfOwnTopic && values.source !== undefined)
    throw new CommandError(`${projection} is rebuilt from ${topic}: leave --source out`, 2);
  if (
    values.cancel === true &&
    (values.compare === true || values.swap === true || values.source !== undefined)
  )
    throw new CommandError(
      '--cancel ends a rebuild and drops its table: it goes with --into only',
      2,
    );
  const others = [values.into, values.source, values.compare, values.swap, values.cancel];
  if (values.undo === true && others.some((one) => one !== undefined))
    throw new CommandError(
      '--undo exchanges the tables of the last swap again: it goes with --accept-gaps and --json only',
      2,
    );
  const most = values['max-differing'];
  if (
    most !== undefined &&
    !(/^\d+$/.test(most) && values.compare === true && values.swap === true)
  )
    throw new CommandError(
      `--max-differing ${most}: expected a whole number, beside --compare and --swap`,
      2,
    );
  return {
    ...{ projection, source, suffix: tableSuffix(values.into ?? 'rebuilt') },
    ...{
      compare: values.compare === true,
      swap: values.swap === true,
      cancel: values.cancel === true,
      undo: values.undo === true,
      maxDiffering: Number(most ?? 0),
      acceptGaps: values['accept-gaps'] === true,
      json: values.json === true,
    },
  };
}
