import type { CampaignDefinition } from './definition.ts';
import type { ActiveRun, CampaignState, CampaignStatus, Recurrence } from './state.ts';

/** A campaign as the store has it. Times are ms since the epoch. */
export interface StoredCampaign extends CampaignState {
  id: number;
  accountId: number;
  definition: CampaignDefinition;
  createdAt: number;
  updatedAt: number;
  /** Runs of the account that have not ended, and those of the last 24 hours. */
  accountRuns: { active: number; recent: number };
  /** Changes with every change of the row. */
  mark: string;
}

export interface CampaignRow {
  id: string;
  account_id: string;
  definition: CampaignDefinition;
  version: number;
  status: CampaignStatus;
  submitted_version: number | null;
  approved_version: number | null;
  recurrence: Recurrence | null;
  next_at: Date | null;
  created_at: Date;
  updated_at: Date;
  mark: string;
  runs:
    | {
        id: number;
        state: ActiveRun['state'];
        due_ms: number;
        paused: boolean;
        cancelled: boolean;
      }[]
    | null;
  last_end: 'finished' | 'failed' | null;
  active_runs: number;
  recent_runs: number;
}

/** States of runs that have not ended. */
export const ACTIVE = `('scheduled', 'confirm', 'planning', 'sending')`;

/** One campaign: $1 account, $2 campaign. xmin names the transaction that wrote the row. */
export const SELECT_CAMPAIGN = `
  SELECT c.id, c.account_id, c.definition, c.version, c.status, c.submitted_version, c.approved_version, c.recurrence, c.next_at, c.created_at, c.updated_at,
    c.xmin::text AS mark,
    (SELECT json_agg(json_build_object('id', r.id, 'state', r.state, 'due_ms', (extract(epoch FROM r.due_at) * 1000)::bigint, 'paused', r.paused, 'cancelled', r.cancelled) ORDER BY r.id)
      FROM campaign_runs r WHERE r.campaign_id = c.id AND r.state IN ${ACTIVE}) AS runs,
    (SELECT r.state FROM campaign_runs r WHERE r.campaign_id = c.id AND r.state IN ('finished', 'failed') ORDER BY r.finished_at DESC, r.id DESC LIMIT 1) AS last_end,
    (SELECT count(*) FROM campaign_runs r WHERE r.account_id = $1 AND r.state IN ${ACTIVE})::integer AS active_runs,
    (SELECT count(*) FROM campaign_runs r WHERE r.account_id = $1 AND r.created_at > clock_timestamp() - interval '24 hours')::integer AS recent_runs
  FROM campaigns c WHERE c.account_id = $1 AND c.id = $2`;

export function campaignOf(row: CampaignRow): StoredCampaign {
  return {
    ...{ id: Number(row.id), accountId: Number(row.account_id), definition: row.definition },
    ...{ status: row.status, version: row.version, mark: row.mark },
    submittedVersion: row.submitted_version ?? undefined,
    approvedVersion: row.approved_version ?? undefined,
    recurrence: row.recurrence ?? undefined,
    nextAt: row.next_at?.getTime(),
    runs: (row.runs ?? []).map(({ due_ms: dueAt, ...run }) => ({ ...run, dueAt })),
    lastEnd: row.last_end ?? undefined,
    ...{ createdAt: row.created_at.getTime(), updatedAt: row.updated_at.getTime() },
    accountRuns: { active: row.active_runs, recent: row.recent_runs },
  };
}
