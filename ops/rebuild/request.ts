import { parseLine } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { tableSuffix } from '../replay/request.ts';
import { PROJECTIONS, type ProjectionName } from '../../schemas/topology.ts';

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
      json: { type: 'boolean' },
    },
  });
  const projection = PROJECTION_NAMES.find((one) => one === words[0]);
  if (projection === undefined)
    throw new CommandError(
      `there is no projection ${JSON.stringify(words[0])}: ${PROJECTION_NAMES.join(', ')}`,
      2,
    );
  const { source = 'raw' } = values;
  if (source !== 'raw' && source !== 'normalised')
    throw new CommandError(`--source ${source}: raw or normalised`, 2);
  if (projection === 'quality' && values.source !== undefined)
    throw new CommandError('quality is rebuilt from ingest.outcomes: leave --source out', 2);
  if (
    values.cancel === true &&
    (values.compare === true || values.swap === true || values.source !== undefined)
  )
    throw new CommandError(
      '--cancel ends a rebuild and drops its table: it goes with --into only',
      2,
    );
  return {
    ...{ projection, source, suffix: tableSuffix(values.into ?? 'rebuilt') },
    ...{
      compare: values.compare === true,
      swap: values.swap === true,
      cancel: values.cancel === true,
      json: values.json === true,
    },
  };
}
