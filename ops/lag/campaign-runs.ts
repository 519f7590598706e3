import { countText, spanText } from '../../cli/format.ts';
import type { WaitingMessages } from '../../pipeline/dispatcher/runs/balance.ts';
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

/** Outcomes that are unpublished for so long are a warning, s. */
const OUTBOX_WARNING_SECONDS = 60;

/** What waits in the queues of messages, as lines; none when nothing waits. */
export function messageLines(waiting: WaitingMessages): string[] {
  const { due_chunks: chunks, due_seconds: due, outbox_rows: rows, outbox_seconds: age } = waiting;
  return [
    ...(chunks > 0
      ? [`messages: ${countText(chunks)} chunks are due, for ${spanText(due * 1000)} at most`]
      : []),
    ...(rows > 0
      ? [
          `messages: ${countText(rows)} rows of outcomes are not published, for ${spanText(age * 1000)} at most`,
        ]
      : []),
  ];
}

/** A sentence when outcomes are not published. */
export function messageWarnings({ outbox_seconds: age }: WaitingMessages): string[] {
  return age < OUTBOX_WARNING_SECONDS
    ? []
    : [
        `dispatcher: outcomes of messages have not been published for ${spanText(age * 1000)}; ./ravand logs dispatcher shows why`,
      ];
}
