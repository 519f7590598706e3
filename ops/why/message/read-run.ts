import { hasBit } from '../../../pipeline/dispatcher/chunk/bits.ts';
import { isOpen } from '../../../pipeline/dispatcher/chunk/chunk-state.ts';
import type { Retry } from '../../../pipeline/dispatcher/chunk/chunk-state.ts';
import { unescapeText } from '../../../platform/postgres/escaped-text.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import type { QueuedRecipient, RunFacts } from './facts.ts';

const ms = (column: string) => `extract(epoch FROM ${column})::float8 * 1000`;

const RUN = `SELECT r.account_id::float8 AS account_id, a.status = 'active' AS is_active, c.name, c.status, c.channel, r.cause, r.state, r.paused, r.cancelled,
    (r.definition ->> 'template_id')::float8 AS template_id, (r.definition ->> 'template_version')::float8 AS template_version, r.definition ->> 'category' AS category,
    r.control_percent, r.goal_event, r.goal_hours, ${ms('r.due_at')} AS due_at, ${ms('r.confirmed_at')} AS confirmed_at, r.freeze_attempt, ${ms('r.frozen_at')} AS frozen_at,
    r.planned::float8 AS planned, r.chunks, r.last_key, r.is_planned, ${ms('r.deadline_at')} AS deadline_at, ${ms('r.finished_at')} AS finished_at, r.error
  FROM campaign_runs r JOIN campaigns c ON c.id = r.campaign_id JOIN accounts a ON a.id = r.account_id WHERE r.id = $2 AND r.campaign_id = $1`;

interface RunRow {
  account_id: number;
  is_active: boolean;
  name: string;
  status: string;
  channel: string;
  cause: string;
  state: string;
  paused: boolean;
  cancelled: boolean;
  template_id: number;
  template_version: number;
  category: string;
  control_percent: number;
  goal_event: string | null;
  goal_hours: number | null;
  due_at: number;
  confirmed_at: number | null;
  freeze_attempt: number;
  frozen_at: number | null;
  planned: number;
  chunks: number;
  last_key: string;
  is_planned: boolean;
  deadline_at: number | null;
  finished_at: number | null;
  error: string;
}

/** Undefined: the campaign has no such run. Rejects when PostgreSQL does. */
export async function readRun(
  database: Pick<Database, 'query'>,
  { campaignId, runId }: { campaignId: number; runId: number },
): Promise<RunFacts | undefined> {
  const { rows } = await database.query<RunRow>(RUN, [campaignId, runId]);
  const [row] = rows;
  if (!row) return undefined;
  return {
    ...{ accountId: row.account_id, isActive: row.is_active, channel: row.channel },
    ...{ campaignName: unescapeText(row.name), campaignStatus: row.status, category: row.category },
    ...{ templateId: row.template_id, templateVersion: row.template_version },
    controlPercent: row.control_percent,
    goal:
      row.goal_event === null
        ? undefined
        : { event: unescapeText(row.goal_event), hours: row.goal_hours ?? 0 },
    ...{ cause: row.cause, state: row.state, paused: row.paused, cancelled: row.cancelled },
    ...{ dueAt: row.due_at, confirmedAt: row.confirmed_at ?? undefined },
    ...{ freezeAttempt: row.freeze_attempt, frozenAt: row.frozen_at ?? undefined },
    ...{ planned: row.planned, chunks: row.chunks, lastKey: row.last_key },
    ...{ isPlanned: row.is_planned, deadlineAt: row.deadline_at ?? undefined },
    ...{ finishedAt: row.finished_at ?? undefined, error: unescapeText(row.error) },
  };
}

const CHUNK = `SELECT chunk, record, recipients, opened, opened_with, finished, retries, ${ms('next_at')} AS next_at,
    CASE WHEN leased_until > now() THEN ${ms('leased_until')} END AS leased_until
  FROM message_chunks WHERE run_id = $1 AND first_key <= $2 ORDER BY first_key DESC LIMIT 1`;

interface ChunkRow {
  chunk: number;
  record: Buffer;
  recipients: number;
  opened: Buffer;
  opened_with: string;
  finished: Buffer;
  retries: Retry[];
  next_at: number;
  leased_until: number | null;
}

/** A recipient in its chunk; undefined: no chunk in the queue has it. */
export async function readQueued(
  database: Pick<Database, 'query'>,
  { runId, key }: { runId: number; key: string },
): Promise<QueuedRecipient | undefined> {
  const { rows } = await database.query<ChunkRow>(CHUNK, [runId, key]);
  const [row] = rows;
  if (!row) return undefined;
  const { recipients } = messageChunkCodec.decode(Buffer.from(row.record));
  const index = recipients.findIndex((one) => one.key === key);
  const recipient = recipients[index];
  if (!recipient) return undefined;
  const [opened, finished] = [Buffer.from(row.opened), Buffer.from(row.finished)];
  const state = { recipients: row.recipients, opened, finished, retries: row.retries };
  const retry = row.retries.find((one) => one.index === index);
  return {
    ...{ personId: recipient.person_id, userId: recipient.user_id },
    ...{ isControl: recipient.is_control, chunk: row.chunk, index, recipients: row.recipients },
    state: isOpen(state, index) ? 'open' : hasBit(finished, index) ? 'finished' : 'unopened',
    openedWith: hasBit(opened, index) ? row.opened_with : '',
    retry: retry && { attempts: retry.attempts, at: retry.at },
    ...{ nextAt: row.next_at, leasedUntil: row.leased_until ?? undefined },
  };
}
