import type { LogLayout } from '../../../platform/log/layout.ts';
import { openWriters, runningCommands } from '../grow/plan.ts';
import type { Writer } from '../../../platform/log/writers.ts';

/** What a step of a rewrite is decided by. */
export interface RewriteView {
  layout: LogLayout;
  writers: readonly (Writer & { age: number })[];
  /** While a topic is replaced: groups that have members, whatever they read. */
  readers: readonly string[];
  /** The new topic exists. */
  isCreated: boolean;
  /** Records that are not copied yet. */
  left: number;
}

/** Fewer records than these are copied while writers hold. */
const CAUGHT_UP_RECORDS = 2000;

/**
 * The next step of a rewrite. Every step may be repeated: a command that was killed is continued by
 * the next one. Until the switch nothing has changed for anybody.
 *
 * - copy: under load, then once more after each of the two barriers.
 * - hold: the first barrier. Writers that follow the layout (gateways, the management host, the
 *   planner) keep new records; they have the new name before they publish again. Commands that
 *   publish have ended.
 * - stop: the second one. Services that keep the former name for as long as they run end, and wait
 *   for the new name when they are started again. A service joins its group before it looks whether
 *   a topic is being replaced, and the command looks for members of groups after it has written
 *   that one is: either the service sees that, and reads nothing, or the command sees the service.
 * - switch: no process has the former name, so the ends of both topics stay equal from the last
 *   comparison to the switch, and nothing is appended to the former topic or read from it after it.
 *   Offsets are equal, so that no reader depends on how much of the former topic was read.
 *
 * A process that was suspended for longer than its session, and then goes on for some milliseconds,
 * may append to the former topic after the switch: nobody reads that there, and `removeFormerTopic`
 * copies it. What a killed command had sent to the copy and nobody counted makes the ends differ,
 * and another copy is made.
 */
export type RewriteStep =
  | { step: 'begin' | 'create' | 'copy' | 'hold' | 'stop' | 'switch' }
  | { step: 'wait'; for: readonly string[] };

export function nextStep(view: RewriteView): RewriteStep {
  const { layout, isCreated, left } = view;
  switch (layout.phase) {
    case 'steady':
      return { step: 'begin' };
    case 'preparing': {
      if (!isCreated) return { step: 'create' };
      if (left > CAUGHT_UP_RECORDS) return { step: 'copy' };
      return waitOr(runningCommands(view), 'hold');
    }
    case 'holding':
      return waitOr(openWriters(view), left > 0 ? 'copy' : 'stop');
    case 'switching':
    case 'draining':
      return waitOr(
        view.readers.map((group) => `${group} to end`),
        left > 0 ? 'copy' : 'switch',
      );
  }
}

function waitOr(
  missing: readonly string[],
  step: 'hold' | 'copy' | 'stop' | 'switch',
): RewriteStep {
  return missing.length > 0 ? { step: 'wait', for: missing } : { step };
}
