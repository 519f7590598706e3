import { normaliseEventName } from '../../../events/event-name.ts';
import { MESSAGE_STATUSES, type MessageStatus } from '../../../schemas/records.ts';
import type { Database } from '../../../platform/postgres/pool.ts';

/** A run whose messages stats are counted of. Times in ms since the epoch. */
export interface StatsRun {
  id: number;
  campaignId: number;
  /** People of its audience. */
  planned: number;
  frozenAt: number;
  /** Undefined: it still sends. */
  finishedAt: number | undefined;
  /** Of the definition that the run was asked for with: later edits do not change what counts. */
  goal: { event: string; windowMs: number } | undefined;
  hasControl: boolean;
}

/** `planned` = the sum over all statuses + in_flight (docs/message-stats.md, The balance). */
export interface Balance extends Record<MessageStatus, number> {
  planned: number;
  in_flight: number;
  skipped_by_reason: Record<string, number>;
  failed_by_reason: Record<string, number>;
}

/** Runs of a campaign and of those that compete with it; beyond, the latest ones count. */
const MAX_RUNS = 10_000;
const HOUR_MS = 3_600_000;
/** The longest window of a goal. */
const MAX_WINDOW_HOURS = 720;

const BALANCE = `WITH runs AS (SELECT id, planned FROM campaign_runs WHERE campaign_id = $2 AND account_id = $1)
  SELECT 'planned' AS status, '' AS reason, coalesce(sum(planned), 0)::float8 AS messages FROM runs
  UNION ALL SELECT c.status, c.reason, sum(c.messages)::float8 FROM campaign_run_counts c JOIN runs ON runs.id = c.run_id GROUP BY c.status, c.reason`;

/** What became of the recipients of a campaign's runs, at one moment. */
export async function readBalance(
  database: Pick<Database, 'query'>,
  { accountId, campaignId }: { accountId: number; campaignId: number },
): Promise<Balance> {
  const { rows } = await database.query<{ status: string; reason: string; messages: number }>(
    BALANCE,
    [accountId, campaignId],
  );
  const count = (status: string) =>
    rows.reduce((sum, row) => sum + (row.status === status ? row.messages : 0), 0);
  const byReason = (status: MessageStatus) =>
    Object.fromEntries(
      rows.filter((row) => row.status === status).map(({ reason, messages }) => [reason, messages]),
    );
  const planned = count('planned');
  const [sent, failed, withheld, skipped] = MESSAGE_STATUSES.map(count) as [
    ...[sent: number, failed: number, withheld: number, skipped: number],
  ];
  return {
    ...{ planned, sent, failed, withheld, skipped },
    in_flight: planned - sent - failed - withheld - skipped,
    ...{ skipped_by_reason: byReason('skipped'), failed_by_reason: byReason('failed') },
  };
}

/** Whole milliseconds, as ClickHouse compares them: PostgreSQL's clock has microseconds. */
const COLUMNS = `id, campaign_id, planned::float8, floor(extract(epoch FROM frozen_at) * 1000)::float8 AS frozen_at, floor(extract(epoch FROM finished_at) * 1000)::float8 AS finished_at,
  goal_event, goal_hours, control_percent`;
const OWN = `SELECT ${COLUMNS} FROM campaign_runs WHERE campaign_id = $2 AND account_id = $1 AND frozen_at IS NOT NULL ORDER BY id DESC LIMIT ${MAX_RUNS}`;
const COMPETING = `SELECT ${COLUMNS} FROM campaign_runs WHERE account_id = $1 AND campaign_id <> $2 AND frozen_at IS NOT NULL AND goal_event IS NOT NULL
    AND frozen_at <= to_timestamp($4::float8 / 1000) AND coalesce(finished_at, to_timestamp($4::float8 / 1000)) >= to_timestamp($3::float8 / 1000)
  ORDER BY frozen_at DESC LIMIT ${MAX_RUNS}`;

interface Row {
  id: string;
  campaign_id: string;
  planned: number;
  frozen_at: number;
  finished_at: number | null;
  goal_event: string | null;
  goal_hours: number | null;
  control_percent: number;
}

/**
 * The runs of a campaign, and those of other campaigns with the same goal event whose messages a
 * conversion could belong to instead.
 */
export async function readRuns(
  database: Pick<Database, 'query'>,
  of: { accountId: number; campaignId: number; now: number },
): Promise<StatsRun[]> {
  const { accountId, campaignId, now } = of;
  const own = await database.query<Row>(OWN, [accountId, campaignId]);
  const runs = own.rows.map(runOf);
  const goals = new Set(runs.flatMap(({ goal }) => goal?.event ?? []));
  if (goals.size === 0) return runs;
  const first = Math.min(...runs.map(({ frozenAt }) => frozenAt));
  const last = Math.max(...runs.map(({ finishedAt = now }) => finishedAt));
  const window = MAX_WINDOW_HOURS * HOUR_MS;
  const others = await database.query<Row>(COMPETING, [
    ...[accountId, campaignId, first - window, last + window],
  ]);
  const competing = others.rows.map(runOf).filter(({ goal }) => goal && goals.has(goal.event));
  return [...runs, ...competing].slice(0, MAX_RUNS);
}

function runOf({ goal_event: event, goal_hours: hours, ...row }: Row): StatsRun {
  return {
    ...{ id: Number(row.id), campaignId: Number(row.campaign_id), planned: row.planned },
    frozenAt: row.frozen_at,
    finishedAt: row.finished_at ?? undefined,
    goal:
      event === null || hours === null
        ? undefined
        : { event: normaliseEventName(event), windowMs: hours * HOUR_MS },
    hasControl: row.control_percent > 0,
  };
}
