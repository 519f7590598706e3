import { auditedChange } from '../../platform/audited-change.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Author } from '../author.ts';
import type { MessageSettings } from '../settings/settings.ts';
import { changeStatement } from './apply-decision.ts';
import { decide } from './decide.ts';
import type { CampaignDefinition } from './definition.ts';
import type { CampaignStatus, Command, Refusal } from './state.ts';
import {
  campaignOf,
  SELECT_CAMPAIGN,
  type CampaignRow,
  type StoredCampaign,
} from './stored-campaign.ts';

/** Campaigns of one account, and their definitions together in bytes of JSON. */
export const MAX_CAMPAIGNS = 10_000;
const MAX_ACCOUNT_BYTES = 128 * 2 ** 20;
/** Runs that one account asks for in 24 hours. */
export const MAX_RUNS_PER_DAY = 1000;
/** The newest ones in a list (management 2.6). */
const LISTED = 200;
/** A change that others overtake so often is given up. */
const MAX_ATTEMPTS = 5;

/** A campaign in a list. */
export interface ListedCampaign {
  id: number;
  name: string;
  channel: string;
  status: CampaignStatus;
  scheduled_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface ChangedCampaign {
  id: number;
  status: CampaignStatus;
  version: number;
  /** The run that was added. */
  runId: number | undefined;
}

export type ChangeOutcome =
  | ({ kind: 'changed' } & ChangedCampaign)
  | { kind: 'refused'; refusal: Refusal }
  | { kind: 'not_found' }
  /** What keeps the campaign from the change, a sentence. */
  | { kind: 'problem'; problem: string };

/** What is asked of a campaign as it is; an edit comes with its new definition. */
export interface Change {
  command: Command;
  definition?: CampaignDefinition;
}

interface Problem {
  problem: string;
}

const ACTIONS: Readonly<Record<Command['kind'], string>> = {
  submit: 'campaign.submitted',
  approve: 'campaign.approved',
  edit: 'campaign.changed',
  send: 'campaign.sent',
  set_recurrence: 'campaign.recurrence_set',
  remove_recurrence: 'campaign.recurrence_removed',
  pause: 'campaign.paused',
  resume: 'campaign.resumed',
  cancel: 'campaign.cancelled',
  confirm: 'campaign.confirmed',
};

/** Campaigns in PostgreSQL. Every method rejects when the store is unavailable. */
export class CampaignStore {
  readonly #database: Pick<Database, 'query'>;
  /** ms since the epoch */
  readonly #now: () => number;

  constructor(database: Pick<Database, 'query'>, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * A new draft; `full`: the account has as many campaigns as it may. Concurrent requests see the
   * same sums: an account may exceed its limits by what they store.
   */
  async create(
    { accountId, actor }: Author,
    definition: CampaignDefinition,
  ): Promise<{ id: number } | 'full'> {
    const { name, channel, scheduled_at: scheduledAt = null } = definition;
    const [row] = await auditedChange<{ id: string }>(this.#database, {
      statement: `INSERT INTO campaigns (account_id, name, channel, definition, scheduled_at)
        SELECT $1::bigint, $2::text, $3::text, $4::json, $5::timestamptz
        FROM (SELECT count(*) AS campaigns, coalesce(sum(definition_bytes), 0) AS bytes FROM campaigns WHERE account_id = $1) AS others
        WHERE campaigns < ${MAX_CAMPAIGNS} AND bytes + octet_length($4::text) <= ${MAX_ACCOUNT_BYTES}
        RETURNING account_id, id, jsonb_build_object('campaign_id', id) AS audit`,
      values: [accountId, name, channel, JSON.stringify(definition), scheduledAt],
      ...{ actor, action: 'campaign.created', details: { channel } },
    });
    return row ? { id: Number(row.id) } : 'full';
  }

  /** The 200 most recently updated ones of an account. */
  async list(accountId: number): Promise<ListedCampaign[]> {
    const { rows } = await this.#database.query<
      Pick<ListedCampaign, 'name' | 'channel' | 'status'> & {
        id: string;
        scheduled_at: Date | null;
        created_at: Date;
        updated_at: Date;
      }
    >(
      `SELECT id, name, channel, status, scheduled_at, created_at, updated_at FROM campaigns
       WHERE account_id = $1 ORDER BY updated_at DESC, id DESC LIMIT ${LISTED}`,
      [accountId],
    );
    return rows.map((row) => ({
      ...row,
      id: Number(row.id),
      scheduled_at: row.scheduled_at?.toISOString() ?? null,
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
    }));
  }

  async find(accountId: number, id: number): Promise<StoredCampaign | undefined> {
    const { rows } = await this.#database.query<CampaignRow>(SELECT_CAMPAIGN, [accountId, id]);
    return rows[0] && campaignOf(rows[0]);
  }

  /**
   * Decides a change with the campaign as it is, and applies it in one statement. When somebody
   * changes the campaign in between, it is decided anew: each change sees those before it.
   * @param changeOf also asked again then
   */
  async change(
    { accountId, actor, id }: Author & { id: number },
    settings: Pick<MessageSettings, 'approvalRequired' | 'maxActiveRuns'>,
    changeOf: (campaign: StoredCampaign) => Change | Problem | Promise<Change | Problem>,
  ): Promise<ChangeOutcome> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const campaign = await this.find(accountId, id);
      if (!campaign) return { kind: 'not_found' };
      const change = await changeOf(campaign);
      if ('problem' in change) return { kind: 'problem', problem: change.problem };
      const { command, definition } = change;
      const { active, recent } = campaign.accountRuns;
      const decision = decide(campaign, command, {
        now: this.#now(),
        approvalRequired: settings.approvalRequired,
        hasTooManyRuns: active >= settings.maxActiveRuns || recent >= MAX_RUNS_PER_DAY,
      });
      if (decision.kind === 'refused') return decision;
      const { status, version } = campaign;
      if (decision.kind === 'unchanged')
        return { kind: 'changed', id, status, version, runId: undefined };
      const [row] = await auditedChange<{
        status: CampaignStatus;
        version: number;
        run_id: string | null;
      }>(this.#database, {
        ...changeStatement(campaign, decision, definition),
        ...{ actor, action: ACTIONS[command.kind], details: {} },
      });
      if (!row) continue;
      const runId = row.run_id === null ? undefined : Number(row.run_id);
      return { kind: 'changed', id, status: row.status, version: row.version, runId };
    }
    throw new Error(`campaign ${id} was changed ${MAX_ATTEMPTS} times while a change was decided`);
  }
}
