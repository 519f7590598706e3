import type { ActiveRun, CampaignState, CampaignStatus } from './state.ts';

/**
 * The status of a campaign with these runs. `paused` stays while there is something to resume;
 * `draft` and `cancelled` stay while nothing is sent.
 */
export function statusOf(state: CampaignState, now: number): CampaignStatus {
  const activity = activityOf(state, now);
  if (activity !== 'idle') return state.status === 'paused' ? 'paused' : activity;
  if (state.status === 'draft' || state.status === 'cancelled') return state.status;
  if (state.lastEnd === undefined) return 'draft';
  return state.lastEnd === 'finished' ? 'sent' : 'failed';
}

/** Nothing is being sent, and nothing is going to be. */
export function isIdle(state: CampaignState, now: number): boolean {
  return activityOf(state, now) === 'idle';
}

/** The runs that still send, or are going to. */
function liveRuns({ runs }: CampaignState): ActiveRun[] {
  return runs.filter((run) => !run.cancelled);
}

function activityOf(state: CampaignState, now: number): 'sending' | 'scheduled' | 'idle' {
  const live = liveRuns(state);
  const isSending = (run: ActiveRun) =>
    run.state === 'scheduled' ? run.dueAt <= now : run.state !== 'confirm';
  if (live.some(isSending)) return 'sending';
  return live.length > 0 || state.nextAt !== undefined ? 'scheduled' : 'idle';
}
