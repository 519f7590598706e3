import type { Registry } from 'prom-client';
import { metricsOf } from '../../platform/metrics.ts';
import type { FreezeOutcome } from './freeze/freeze.ts';
import type { SliceOutcome } from './chunks/write-slice.ts';
import type { Started } from './run-store.ts';
import type { WaitingRuns } from './waiting-runs.ts';

/** What became of a turn of a run. `error`: it is tried again. */
export type TurnOutcome = FreezeOutcome | SliceOutcome | 'error';

export interface PlannerMetrics {
  turnEnded: (outcome: TurnOutcome) => void;
  recipientsWritten: (count: number) => void;
  runsStarted: (started: Started) => void;
  instancesRecorded: (recorded: { scheduled: number; missed: number }) => void;
  waiting: (runs: WaitingRuns) => void;
}

export function plannerMetrics(registry: Registry): PlannerMetrics {
  const metrics = metricsOf(registry);
  const turns = metrics.counter(
    'ravand_planner_turns_total',
    'Turns of runs by outcome: frozen, written, planned, failed (its audience cannot be computed), lost (another process has the run), error (tried again).',
    'outcome',
  );
  const recipients = metrics.counter(
    'ravand_planner_recipients_total',
    'Recipients in chunks that are durable in messages.planned; those written again after a crash count again.',
  );
  const runs = metrics.counter(
    'ravand_planner_runs_total',
    'Runs that were due: planning, confirm (too late: a person decides), cancelled; instances of recurrences: scheduled, missed.',
    'outcome',
  );
  runs.inc({ outcome: 'missed' }, 0);
  const waiting = metrics.gauge(
    'ravand_campaign_runs_waiting',
    'Runs of campaigns that wait: due (not started), planning, confirm (for a person).',
    'state',
  );
  const late = metrics.gauge(
    'ravand_campaign_runs_late_seconds',
    'For how long the run has been due that is due for longest and not planned; 0 without one.',
  );
  return {
    turnEnded: (outcome) => turns.inc({ outcome }),
    recipientsWritten: (count) => recipients.inc(count),
    runsStarted(started) {
      for (const [outcome, count] of Object.entries(started)) runs.inc({ outcome }, count);
    },
    instancesRecorded({ scheduled, missed }) {
      runs.inc({ outcome: 'scheduled' }, scheduled);
      runs.inc({ outcome: 'missed' }, missed);
    },
    waiting({ due, planning, confirm, late_seconds: lateSeconds }) {
      waiting.set({ state: 'due' }, due);
      waiting.set({ state: 'planning' }, planning);
      waiting.set({ state: 'confirm' }, confirm);
      late.set(lateSeconds);
    },
  };
}
