import type { Connections } from '../../jobs/connections.ts';

/** What was done to campaigns, because messages since the backup may have been sent. */
export interface HeldCampaigns {
  runs: number;
  campaigns: number;
}

// The planner asks about runs that are late, and the dispatcher sends nothing of a paused one.
const RUNS = `NOT cancelled AND NOT paused AND (state IN ('planning', 'sending') OR (state IN ('scheduled', 'confirm') AND due_at <= clock_timestamp()))`;
const CAMPAIGNS = `status IN ('scheduled', 'sending') AND (next_at <= clock_timestamp() OR id IN (SELECT campaign_id FROM campaign_runs WHERE ${RUNS}))`;
const COUNT = `SELECT (SELECT count(*) FROM campaign_runs WHERE ${RUNS})::integer AS runs, (SELECT count(*) FROM campaigns WHERE ${CAMPAIGNS})::integer AS campaigns`;
const HOLD = `WITH c AS (UPDATE campaigns SET status = 'paused', updated_at = clock_timestamp() WHERE ${CAMPAIGNS} RETURNING 1),
    r AS (UPDATE campaign_runs SET paused = true WHERE ${RUNS} RETURNING 1)
  SELECT (SELECT count(*) FROM r)::integer AS runs, (SELECT count(*) FROM c)::integer AS campaigns`;

/** Ids of messages are made of the ids of runs: no run may have one that another had. */
const ADVANCE_IDS = `SELECT setval('campaign_runs_id_seq', greatest(nextval('campaign_runs_id_seq'), $1::bigint))`;
const LAST_RUN = `SELECT toString(max(run_id)) AS run FROM (
    SELECT max(run_id) AS run_id FROM messages UNION ALL SELECT max(run_id) FROM campaign_recipients
  )`;

/**
 * Pauses the campaigns that send, or were to send since the backup: what they sent since then is
 * known only as far as it was published, and a person decides whether they go on. Runs that are
 * asked for from now on have new ids.
 */
export async function holdCampaigns(
  { database, clickhouse }: Pick<Connections, 'database' | 'clickhouse'>,
  { dryRun }: { dryRun: boolean },
): Promise<HeldCampaigns> {
  if (!dryRun) {
    const answer = await clickhouse.query({ query: LAST_RUN, format: 'JSONEachRow' });
    const [last] = await answer.json<{ run: string }>();
    await database.query(ADVANCE_IDS, [last?.run ?? 0]);
  }
  const { rows } = await database.query<HeldCampaigns>(dryRun ? COUNT : HOLD);
  return rows[0] ?? { runs: 0, campaigns: 0 };
}
