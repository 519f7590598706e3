/** As clients see them (docs/messages.md, Send a campaign). */
export const CAMPAIGN_STATUSES = [
  'draft',
  'scheduled',
  'sending',
  'paused',
  'sent',
  'cancelled',
  'failed',
] as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];

/** States of runs that have not ended. */
type ActiveRunState = 'scheduled' | 'confirm' | 'planning' | 'sending';
export interface ActiveRun {
  id: number;
  state: ActiveRunState;
  /** ms since the epoch */
  dueAt: number;
  paused: boolean;
  /** Its waiting recipients are being skipped. */
  cancelled: boolean;
}

/** A recurrence rule as it was entered (messaging/recurrence). */
export interface Recurrence {
  rule: string;
  /** RFC 3339 */
  starts_at: string;
  time_zone: string;
}

/** What decisions about a campaign depend on. */
export interface CampaignState {
  status: CampaignStatus;
  /** Rises with each change of the definition or the recurrence. */
  version: number;
  submittedVersion: number | undefined;
  approvedVersion: number | undefined;
  recurrence: Recurrence | undefined;
  /** The next instance of the recurrence, ms since the epoch; undefined: it is not armed. */
  nextAt: number | undefined;
  runs: readonly ActiveRun[];
  /** How the last run ended that was neither missed nor cancelled; undefined: none has. */
  lastEnd: 'finished' | 'failed' | undefined;
}

/** What a person asks for. Times are ms since the epoch. */
export type Command =
  | { kind: 'submit' }
  | { kind: 'approve' }
  /** The definition differs from the stored one. */
  | { kind: 'edit' }
  /** `scheduledAt`: of the definition. */
  | { kind: 'send'; scheduledAt: number | undefined }
  /** `nextAt`: its first instance that is not over. */
  | { kind: 'set_recurrence'; recurrence: Recurrence; nextAt: number }
  | { kind: 'remove_recurrence' }
  | { kind: 'pause' }
  | { kind: 'resume' }
  | { kind: 'cancel' }
  /** Runs that are too late begin nevertheless. */
  | { kind: 'confirm' };

/** Of the account, when the command is decided. */
export interface Rules {
  now: number;
  approvalRequired: boolean;
  /** It has as many runs in progress, or has begun as many today, as it may. */
  hasTooManyRuns: boolean;
}

export type Refusal =
  | 'approval_required'
  | 'approval_stale'
  | 'not_submittable'
  | 'not_submitted'
  | 'too_many_runs'
  | 'not_pausable'
  | 'not_paused'
  | 'not_cancellable'
  | 'nothing_to_confirm';

/** What happens to the runs of a campaign. */
export type RunChange =
  | { kind: 'add'; dueAt: number; paused: boolean }
  | { kind: 'pause' }
  /** Those that became due meanwhile are confirmed by resuming. */
  | { kind: 'resume' }
  /** Those that have not begun end; the others skip who waits. */
  | { kind: 'cancel' }
  | { kind: 'confirm' };

type Columns = Omit<CampaignState, 'runs' | 'lastEnd'>;

export type Decision =
  | { kind: 'changed'; changes: Partial<Columns>; run?: RunChange }
  /** It is so already. */
  | { kind: 'unchanged' }
  | { kind: 'refused'; refusal: Refusal };
