import { quotaMonth } from '../../events/tehran-time.ts';
import { messageOutcomeCodec } from '../../schemas/codec.ts';
import type { MessageOutcome } from '../../schemas/records.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { frameOutcomes } from '../outcomes/outcome-frames.ts';
import type { MessageResult } from './message-result.ts';
import type { Fenced } from './reservation.ts';

/** The end of a transactional message. */
export interface Completion extends Fenced {
  result: MessageResult;
  outcome: MessageOutcome;
}

/**
 * The result, the meter and the outbox change together, and only for whoever holds the newest
 * reservation. Rows of meters are locked in one order.
 */
const COMPLETE = `WITH w AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::json[], $5::bytea[], $6::text[], $7::text[])
      WITH ORDINALITY AS w (account_id, idempotency_key, fence, result, outcome, month, channel, at)
  ), completed AS (
    UPDATE transactional_messages t SET result = w.result, finished_at = clock_timestamp() FROM w
    WHERE t.account_id = w.account_id AND t.idempotency_key = w.idempotency_key AND t.fence = w.fence AND t.result IS NULL
    RETURNING w.at
  ), meters AS (
    INSERT INTO message_meters AS m (account_id, month, channel, messages)
    SELECT account_id, month, channel, count(*) FROM w JOIN completed USING (at) WHERE month <> '' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (account_id, month, channel) DO UPDATE SET messages = m.messages + excluded.messages
  ), outbox AS (
    INSERT INTO message_outbox (account_id, outcomes)
    SELECT account_id, string_agg(outcome, '' ORDER BY at) FROM w JOIN completed USING (at) GROUP BY account_id
  )
  SELECT at::integer AS at FROM completed
  UNION ALL
  SELECT w.at::integer FROM w JOIN transactional_messages t USING (account_id, idempotency_key, fence) WHERE t.result IS NOT NULL`;

/**
 * Which of them are completed, now or by an earlier execution whose answer was lost; the others are
 * of keys that were reserved again.
 */
export async function completeMessages(
  database: Pick<Database, 'query'>,
  all: readonly Completion[],
): Promise<boolean[]> {
  const { rows } = await database.query<{ at: number }>(COMPLETE, [
    all.map(({ accountId }) => accountId),
    all.map(({ idempotencyKey }) => idempotencyKey),
    all.map(({ fence }) => fence),
    all.map(({ result }) => JSON.stringify(result)),
    all.map(({ outcome }) => frameOutcomes([messageOutcomeCodec.encode(outcome)])),
    // Only what was sent is metered (ingest 8).
    all.map(({ outcome }) =>
      outcome.status === 'sent' ? quotaMonth(outcome.finished_at).key : '',
    ),
    all.map(({ outcome }) => outcome.channel),
  ]);
  const completed = new Set(rows.map(({ at }) => at));
  return all.map((_, index) => completed.has(index + 1));
}
