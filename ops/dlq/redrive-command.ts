import { countText } from '../../cli/format.ts';
import { print } from '../../cli/terminal.ts';
import { asWriter } from '../log/command-writer.ts';
import { audit, requireGroup, type DlqContext } from './dlq-context.ts';
import type { DeadLetterGroup } from './groups.ts';
import { openTools } from './redrive-tools.ts';
import { redriveGroup, type RedriveReport } from './redrive.ts';

/** `./ravand dlq redrive`: 1 when it is uncertain what some dead letters have become. */
export async function redrive(
  dlq: DlqContext,
  options: { group: string; limit: number; dryRun: boolean },
): Promise<number> {
  const { database } = dlq;
  const group = await requireGroup(dlq, options.group);
  const named = { ...options, group };
  return options.dryRun
    ? redriveNow(dlq, named)
    : asWriter({ database, command: 'dlq redrive' }, () => redriveNow(dlq, named));
}

async function redriveNow(
  dlq: DlqContext,
  options: { group: DeadLetterGroup; limit: number; dryRun: boolean },
): Promise<number> {
  const { json } = dlq;
  const { group } = options;
  const about = { group: group.group, stage: group.stage, reason: group.reason };
  if (!options.dryRun)
    await audit(dlq, {
      action: 'dead_letters.redrive_started',
      details: { ...about, limit: options.limit, dead: group.states.dead },
    });
  const { tools, close } = await openTools(dlq);
  try {
    const report = await redriveGroup(tools, { ...options, group: group.group });
    const summary = {
      ...about,
      letters: report.redriven.deadLetters,
      events: report.redriven.events,
      recovered: report.recovered,
      replayed: report.replayed,
      uncertain: report.uncertain,
      unready: sum(report.unready),
    };
    if (!options.dryRun) await audit(dlq, { action: 'dead_letters.redriven', details: summary });
    if (json)
      print(
        JSON.stringify({
          ...summary,
          dry_run: options.dryRun,
          // Of a killed redrive: this one decides about them.
          interrupted: options.dryRun ? group.states.redriving : 0,
          why_unready: Object.fromEntries(report.unready),
        }),
      );
    else for (const line of reportLines(group, { report, dryRun: options.dryRun })) print(line);
    return report.uncertain > 0 ? 1 : 0;
  } finally {
    await close();
  }
}

function reportLines(
  group: DeadLetterGroup,
  { report, dryRun }: { report: RedriveReport; dryRun: boolean },
): string[] {
  const { redriven, recovered, replayed, unready, uncertain } = report;
  const verb = dryRun ? 'would redrive' : 'redrove';
  return [
    `${verb} ${countText(redriven.deadLetters)} dead letters with ${countText(redriven.events)} events of group ${group.group} (${group.reason})`,
    ...(recovered > 0
      ? [`${countText(recovered)} dead letters of a killed redrive are in the log already`]
      : []),
    ...(replayed > 0
      ? [`a replay has already stored the events of ${countText(replayed)} dead letters`]
      : []),
    ...[...unready].map(
      ([why, count]) => `left ${countText(count)} dead letters as they are: ${why}`,
    ),
    ...(uncertain > 0
      ? [
          `${countText(uncertain)} dead letters may be in the log or not: redrive the group again, it searches the log first`,
        ]
      : []),
  ];
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, one) => total + one, 0);
}
