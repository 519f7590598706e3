import { isIdle, statusOf } from './status.ts';
import type {
  ActiveRun,
  CampaignState,
  Command,
  Decision,
  Recurrence,
  Refusal,
  Rules,
  RunChange,
} from './state.ts';

type CommandOf<Kind extends Command['kind']> = Extract<Command, { kind: Kind }>;

/**
 * Decides what a command does to a campaign (management 3.2; docs/messages.md, Send a campaign). A
 * run keeps the definition that was approved when it was asked for, so only asking for a run needs
 * an approval: `send`, a recurrence, and each instance of it when it is due
 * (pipeline/planner/instances). What workers do to runs, status.ts shows.
 */
export function decide(state: CampaignState, command: Command, rules: Rules): Decision {
  switch (command.kind) {
    case 'submit':
      if (state.status !== 'draft' && state.status !== 'paused') return refused('not_submittable');
      return changed({ submittedVersion: state.version });
    case 'approve':
      if (state.submittedVersion !== state.version) return refused('not_submitted');
      return changed({ approvedVersion: state.version });
    case 'edit': {
      const status = isIdle(state, rules.now) ? 'draft' : state.status;
      return changed({ version: state.version + 1, status });
    }
    case 'send':
      return decideSend(state, command, rules);
    case 'set_recurrence':
      return decideRecurrence(state, command, rules);
    case 'remove_recurrence': {
      if (!state.recurrence) return UNCHANGED;
      const status = statusOf({ ...state, nextAt: undefined }, rules.now);
      const version = state.version + 1;
      return changed({ recurrence: undefined, nextAt: undefined, version, status });
    }
    case 'pause':
      if (state.status !== 'scheduled' && state.status !== 'sending')
        return refused('not_pausable');
      return changed({ status: 'paused' }, { kind: 'pause' });
    case 'resume': {
      if (state.status !== 'paused') return refused('not_paused');
      const status = statusOf({ ...state, status: 'scheduled' }, rules.now);
      return changed({ status }, { kind: 'resume' });
    }
    case 'cancel':
      if (state.status !== 'draft' && isIdle(state, rules.now)) return refused('not_cancellable');
      return changed({ status: 'cancelled', nextAt: undefined }, { kind: 'cancel' });
    case 'confirm':
      return decideConfirm(state, rules);
  }
}

/** What approval the present version lacks; undefined: none. */
function missingApproval(state: CampaignState, rules: Rules): Refusal | undefined {
  const { version, submittedVersion, approvedVersion } = state;
  if (!rules.approvalRequired || approvedVersion === version) return undefined;
  // Once the new version was submitted, it waits for its own approval.
  const isStale = approvedVersion !== undefined && submittedVersion !== version;
  return isStale ? 'approval_stale' : 'approval_required';
}

function decideSend(state: CampaignState, command: CommandOf<'send'>, rules: Rules): Decision {
  const missing = missingApproval(state, rules);
  if (missing) return refused(missing);
  if (rules.hasTooManyRuns) return refused('too_many_runs');
  // A person paused the campaign: the run waits until somebody resumes it.
  const paused = state.status === 'paused';
  const dueAt = Math.max(command.scheduledAt ?? 0, rules.now);
  const run: ActiveRun = { id: 0, state: 'scheduled', dueAt, paused, cancelled: false };
  const status = statusOf({ ...state, runs: [...state.runs, run] }, rules.now);
  return changed({ status }, { kind: 'add', dueAt, paused });
}

function decideRecurrence(
  state: CampaignState,
  { recurrence, nextAt }: CommandOf<'set_recurrence'>,
  rules: Rules,
): Decision {
  const missing = missingApproval(state, rules);
  if (missing) return refused(missing);
  const { recurrence: former, version, approvedVersion } = state;
  const isSame = former !== undefined && isSameRecurrence(former, recurrence);
  if (isSame && state.nextAt === nextAt) return UNCHANGED;
  const status = statusOf({ ...state, nextAt }, rules.now);
  if (isSame) return changed({ nextAt, status });
  // The approval of a campaign without recurrence is the approval to arm it; another recurrence
  // than the one that was approved, or armed by that approval, needs a new one.
  const isApproved = former === undefined && approvedVersion === version;
  const approval = { submittedVersion: version + 1, approvedVersion: version + 1 };
  return changed({
    ...{ recurrence, nextAt, status, version: version + 1 },
    ...(isApproved ? approval : {}),
  });
}

function decideConfirm(state: CampaignState, { now }: Rules): Decision {
  const waits = (run: ActiveRun) => run.state === 'confirm' && !run.cancelled;
  if (!state.runs.some(waits)) return refused('nothing_to_confirm');
  const runs = state.runs.map((run) =>
    waits(run) ? { ...run, state: 'scheduled' as const } : run,
  );
  return changed({ status: statusOf({ ...state, runs }, now) }, { kind: 'confirm' });
}

function isSameRecurrence(one: Recurrence, other: Recurrence): boolean {
  return (
    one.rule === other.rule &&
    one.starts_at === other.starts_at &&
    one.time_zone === other.time_zone
  );
}

const UNCHANGED: Decision = { kind: 'unchanged' };

function changed(
  changes: Extract<Decision, { kind: 'changed' }>['changes'],
  run?: RunChange,
): Decision {
  return { kind: 'changed', changes, ...(run ? { run } : {}) };
}

function refused(refusal: Refusal): Decision {
  return { kind: 'refused', refusal };
}
