import { countText, spanText } from '../../cli/format.ts';
import { LATE_WARNING_SECONDS, type WaitingRuns } from '../../pipeline/planner/waiting-runs.ts';

/** Runs of campaigns that wait, as a line; none when nothing waits. */
export function runLines({ due, planning, confirm, late_seconds: late }: WaitingRuns): string[] {
  if (due + planning + confirm === 0) return [];
  const [a, b, c] = [due, planning, confirm].map(countText);
  return [
    `runs of campaigns: ${a} due, ${b} being planned (late ${spanText(late * 1000)}), ${c} waiting for a person to confirm them`,
  ];
}

/** A sentence when a run is late. */
export function runWarnings({ late_seconds: late }: WaitingRuns): string[] {
  return late < LATE_WARNING_SECONDS
    ? []
    : [
        `planner: a run of a campaign has been due for ${spanText(late * 1000)} and is not planned; ./ravand logs planner shows why`,
      ];
}
