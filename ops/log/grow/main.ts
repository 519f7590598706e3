import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, UsageError, type CommandContext } from '../../../cli/command.ts';
import { print } from '../../../cli/terminal.ts';
import { CHANNEL_PARTITIONS, TOPIC } from '../../../schemas/topology.ts';
import { withStopSignal } from '../../graceful-stop.ts';
import { withConnections } from '../../jobs/connections.ts';
import { cancel, checkGrowth, grow } from './grow.ts';
import type { GrowthView } from './plan.ts';

const TIMEOUT = 120_000;
const MAX_PARTITIONS = 10_000;

/** `./ravand log grow`: more partitions, under load (docs/on-call.md). */
export async function runGrow(args: string[], context: CommandContext): Promise<number> {
  const { values } = parseLine({
    args,
    options: {
      partitions: { type: 'string' },
      timeout: { type: 'string' },
      cancel: { type: 'boolean' },
      forget: { type: 'boolean' },
      'dry-run': { type: 'boolean' },
      json: { type: 'boolean' },
    },
  });
  const json = values.json === true;
  const others = ['partitions', 'timeout', 'forget', 'dry-run'] as const;
  const beside = others.find((name) => values.cancel === true && values[name] !== undefined);
  if (beside !== undefined) throw new UsageError(`--${beside} does not go with --cancel`);
  const show = (sentence: string) => {
    if (!json) print(sentence);
  };
  return withStopSignal((stop) =>
    withConnections({ context, stop }, async (connections) => {
      if (values.cancel === true) {
        const { partitions } = await cancel(connections);
        if (json) print(JSON.stringify({ cancelled: true, partitions }));
        show(`cancelled: ${partitions} partitions apply`);
        return 0;
      }
      const partitions = numberOf('partitions', values.partitions);
      if (values['dry-run'] === true) {
        const view = await checkGrowth(connections, partitions);
        if (json) print(JSON.stringify(viewJson(view)));
        else for (const line of viewLines(view)) print(line);
        return 0;
      }
      const timeout =
        values.timeout === undefined ? TIMEOUT : numberOf('timeout', values.timeout) * 1000;
      const result = await grow(connections, {
        ...{ partitions, timeout, stop, report: show },
        forget: values.forget === true,
      });
      if (json) print(JSON.stringify({ ...result, held_ms: result.held, held: undefined }));
      show(
        `the log has ${result.to} partitions (generation ${result.generation}); writers held their records for ${(result.held / 1000).toFixed(1)} s`,
      );
      return 0;
    }),
  );
}

function numberOf(option: string, text: string | undefined): number {
  if (text === undefined) throw new UsageError(`--${option} is missing`);
  const value = /^[1-9]\d*$/.test(text) ? Number(text) : NaN;
  if (!(value <= MAX_PARTITIONS))
    throw new CommandError(
      `--${option} ${text}: expected a whole number from 1 to ${MAX_PARTITIONS}`,
      2,
    );
  return value;
}

function viewJson({ layout, target, counts, writers, behind }: GrowthView) {
  return {
    dry_run: true,
    phase: layout.phase,
    generation: layout.generation,
    partitions: layout.partitions,
    next_partitions: target,
    topics: Object.fromEntries(counts),
    writers: writers.map(({ instance, service, phase, age }) => ({
      instance,
      service,
      phase,
      seen_ms_ago: Math.round(age),
    })),
    behind,
  };
}

const FIXED = `${TOPIC.channelCommands} keeps its ${CHANNEL_PARTITIONS} partitions: the consents of a user are chained in the order of one`;

export function viewLines({ layout, target, counts, writers, behind }: GrowthView): string[] {
  const created = [...counts].filter(([, count]) => count < target);
  return [
    `the log has ${layout.partitions} partitions (generation ${layout.generation}, ${layout.phase})`,
    ...created.map(([topic, count]) => `${topic}: ${target - count} partitions would be created`),
    ...(created.length > 0 ? [FIXED] : []),
    `${writers.length} writers would hold their records: ${writers.map(({ service, instance }) => `${service} ${instance}`).join(', ') || 'none is known'}`,
    ...behind.map(
      ({ group, topic, records }) =>
        `${group} would have to process ${records} more records of ${topic}`,
    ),
    'nothing was changed',
  ];
}
