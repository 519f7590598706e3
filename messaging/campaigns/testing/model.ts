import { decide } from '../decide.ts';
import type { ActiveRun, CampaignState, Command, Decision, Rules } from '../state.ts';

/** A run with the version that it sends. */
export interface ModelRun extends ActiveRun {
  version: number;
}

export interface ModelCampaign extends CampaignState {
  runs: readonly ModelRun[];
}

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
  const next: ModelCampaign = { ...state, ...changes };
  const waits = (one: ModelRun) => one.state === 'scheduled' || one.state === 'confirm';
  switch (run?.kind) {
    case undefined:
      return next;
    case 'add': {
      const { state: runState, dueAt, paused } = run.run;
      if (runState === 'missed') return next;
      const { version } = state;
      const added = { id: runId, state: runState, dueAt, paused, cancelled: false, version };
      return { ...next, runs: [...state.runs, added] };
    }
    case 'pause':
      return { ...next, runs: state.runs.map((one) => ({ ...one, paused: true })) };
    case 'resume':
      return { ...next, runs: state.runs.map((one) => ({ ...one, paused: false })) };
    case 'cancel': {
      const left = state.runs.filter((one) => !waits(one));
      return { ...next, runs: left.map((one) => ({ ...one, cancelled: true, paused: false })) };
    }
    case 'confirm':
      return {
        ...next,
        runs: state.runs.map((one) =>
          one.state === 'confirm'
            ? { ...one, state: 'scheduled', dueAt: Math.min(one.dueAt, now) }
            : one,
        ),
      };
    case 'move': {
      const others = state.runs.filter(({ id }) => id !== run.runId);
      const moved = state.runs.find(({ id }) => id === run.runId);
      if (!moved) return next;
      if (run.state === 'planning' || run.state === 'confirm')
        return { ...next, runs: [...others, { ...moved, state: run.state }] };
      const lastEnd = run.state === 'cancelled' ? state.lastEnd : run.state;
      return { ...next, runs: others, lastEnd };
    }
  }
}

/** Runs commands one after the other; each takes a minute. */
export function play(
  commands: readonly Command[],
  rules: Partial<Rules> = {},
  from: ModelCampaign = DRAFT,
): { state: ModelCampaign; last: Decision | undefined } {
  let state = from;
  let last: Decision | undefined;
  for (const [at, command] of commands.entries()) {
    const now = (rules.now ?? 0) + at * 60_000;
    last = decide(state, command, { ...RULES, ...rules, now });
    state = evolve(state, last, { now, runId: at + 1 });
  }
  return { state, last };
}
