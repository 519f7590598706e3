import { decide } from '../decide.ts';
import type { ActiveRun, CampaignState, Command, Decision, Rules } from '../state.ts';
import { statusOf } from '../status.ts';

/** A run with the version that it sends. */
export interface ModelRun extends ActiveRun {
  version: number;
}

export interface ModelCampaign extends CampaignState {
  runs: readonly ModelRun[];
}

/** What workers do. */
export type Progress =
  /** The recurrence is due: a run, unless the campaign may not be sent. */
  | { kind: 'instance_due'; followingAt: number | undefined }
  | { kind: 'run_started'; runId: number }
  | { kind: 'run_late'; runId: number }
  | { kind: 'run_finished'; runId: number }
  | { kind: 'run_failed'; runId: number };

export const DRAFT: ModelCampaign = {
  ...{ status: 'draft', version: 1, submittedVersion: undefined, approvedVersion: undefined },
  ...{ recurrence: undefined, nextAt: undefined, runs: [], lastEnd: undefined },
};

export const RULES: Rules = { now: 0, approvalRequired: false, hasTooManyRuns: false };

/** What the store makes of a decision. */
export function evolve(
  state: ModelCampaign,
  decision: Decision,
  { now, runId }: { now: number; runId: number },
): ModelCampaign {
  if (decision.kind !== 'changed') return state;
  const { changes, run } = decision;
  const { runs, version } = state;
  const next: ModelCampaign = { ...state, ...changes };
  switch (run?.kind) {
    case undefined:
      return next;
    case 'add': {
      const { dueAt, paused } = run;
      const added = { id: runId, state: 'scheduled', dueAt, paused, cancelled: false, version };
      return { ...next, runs: [...runs, added as ModelRun] };
    }
    case 'pause':
      return { ...next, runs: runs.map((one) => ({ ...one, paused: true })) };
    case 'resume':
      return { ...next, runs: runs.map((one) => ({ ...one, paused: false })) };
    case 'cancel': {
      const begun = runs.filter((one) => one.state !== 'scheduled' && one.state !== 'confirm');
      return { ...next, runs: begun.map((one) => ({ ...one, cancelled: true, paused: false })) };
    }
    case 'confirm': {
      const confirmed = (one: ModelRun): ModelRun =>
        one.state === 'confirm'
          ? { ...one, state: 'scheduled', dueAt: Math.min(one.dueAt, now) }
          : one;
      return { ...next, runs: runs.map(confirmed) };
    }
  }
}

/** What the planner and the dispatcher make of a campaign, as pipeline/planner documents it. */
export function progress(
  state: ModelCampaign,
  event: Progress,
  { runId, ...rules }: Rules & { runId: number },
): ModelCampaign {
  const shown = (next: ModelCampaign) => ({ ...next, status: statusOf(next, rules.now) });
  if (event.kind === 'instance_due') {
    const { nextAt: dueAt, version } = state;
    if (dueAt === undefined || dueAt > rules.now) return state;
    const next = { ...state, nextAt: event.followingAt };
    const isApproved = !rules.approvalRequired || state.approvedVersion === version;
    if (!isApproved || state.status === 'paused') return shown(next);
    const run = { id: runId, dueAt, paused: false, cancelled: false, version };
    return shown({ ...next, runs: [...state.runs, { ...run, state: 'scheduled' }] });
  }
  const run = state.runs.find(({ id }) => id === event.runId);
  const others = state.runs.filter((one) => one !== run);
  if (!run) return state;
  const hasBegun = run.state === 'planning' || run.state === 'sending';
  switch (event.kind) {
    case 'run_started':
    case 'run_late': {
      if (run.state !== 'scheduled' || run.dueAt > rules.now) return state;
      const to = event.kind === 'run_late' ? 'confirm' : 'planning';
      return shown({ ...state, runs: [...others, { ...run, state: to }] });
    }
    case 'run_finished':
    case 'run_failed': {
      if (!hasBegun) return state;
      const end = event.kind === 'run_finished' ? 'finished' : 'failed';
      return shown({ ...state, runs: others, lastEnd: run.cancelled ? state.lastEnd : end });
    }
  }
}

export type Step = Command | Progress;

const PROGRESS = ['instance_due', 'run_started', 'run_late', 'run_finished', 'run_failed'];

export function isProgress(step: Step): step is Progress {
  return PROGRESS.includes(step.kind);
}

/** Runs steps one after the other; each takes a minute. Run n is that of the nth step. */
export function play(
  steps: readonly Step[],
  rules: Partial<Rules> = {},
  from: ModelCampaign = DRAFT,
): { state: ModelCampaign; last: Decision | undefined } {
  let state = from;
  let last: Decision | undefined;
  for (const [at, step] of steps.entries()) {
    const now = (rules.now ?? 0) + at * 60_000;
    const given = { ...RULES, ...rules, now };
    if (isProgress(step)) state = progress(state, step, { ...given, runId: at + 1 });
    else {
      last = decide(state, step, given);
      state = evolve(state, last, { now, runId: at + 1 });
    }
  }
  return { state, last };
}
