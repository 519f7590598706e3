import type { Database } from '../../../platform/postgres/pool.ts';
import type { ChunkWrite, WriteAnswer } from './chunk-row.ts';

/**
 * Everything that belongs to a write is one statement, and takes effect only where the fence is the
 * expected one. Rows that many writes change are changed in one order: no two wait for each other.
 */
const WRITE = `WITH input AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $3::bigint[], $4::integer[], $5::bigint[], $6::bytea[], $7::bytea[], $8::text[], $9::bytea[], $10::json[], $11::boolean[], $12::float8[])
      WITH ORDINALITY AS i (owner, run_id, chunk, fence, opened, opened_if_held, opened_with, finished, retries, is_done, release_until, place)
  ), run AS MATERIALIZED (
    SELECT r.id, r.cancelled, r.deadline_at, NOT (r.paused OR r.cancelled) AND a.status = 'active' AS may_open
    FROM campaign_runs r JOIN accounts a ON a.id = r.account_id WHERE r.id = ANY ($3::bigint[])
  ), written AS (
    UPDATE message_chunks c SET
      opened = CASE WHEN r.may_open THEN i.opened ELSE i.opened_if_held END,
      opened_with = i.opened_with, finished = i.finished, retries = i.retries, is_done = i.is_done, fence = c.fence + 1,
      next_at = CASE WHEN i.release_until IS NULL THEN c.next_at ELSE to_timestamp(i.release_until / 1000) END,
      leased_by = CASE WHEN i.release_until IS NULL THEN c.leased_by END,
      leased_until = CASE WHEN i.release_until IS NULL THEN now() + $2 * interval '1 millisecond' END
    FROM input i JOIN run r ON r.id = i.run_id
    WHERE c.run_id = i.run_id AND c.chunk = i.chunk AND c.fence = i.fence AND c.leased_by = i.owner
    RETURNING i.place, c.run_id, c.account_id, c.channel, r.may_open, r.cancelled
  ), count AS MATERIALIZED (
    SELECT w.run_id, w.account_id, k.status, k.reason, k.messages
    FROM unnest($13::integer[], $14::text[], $15::text[], $16::bigint[]) AS k (place, status, reason, messages) JOIN written w USING (place)
  ), run_counts AS (
    INSERT INTO campaign_run_counts AS t (run_id, status, reason, messages)
    SELECT run_id, status, reason, sum(messages) FROM count GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (run_id, status, reason) DO UPDATE SET messages = t.messages + excluded.messages
  ), totals AS (
    INSERT INTO message_totals AS t (account_id, status, messages)
    SELECT account_id, status, sum(messages) FROM count GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (account_id, status) DO UPDATE SET messages = t.messages + excluded.messages
  ), meters AS (
    INSERT INTO message_meters AS t (account_id, month, channel, messages)
    SELECT w.account_id, m.month, w.channel, sum(m.messages)
    FROM unnest($17::integer[], $18::text[], $19::bigint[]) AS m (place, month, messages) JOIN written w USING (place) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (account_id, month, channel) DO UPDATE SET messages = t.messages + excluded.messages
  ), released AS MATERIALIZED (
    SELECT w.account_id, w.channel, r.person, array_agg(r.message_id) AS message_ids
    FROM unnest($20::integer[], $21::text[], $22::text[]) AS r (place, person, message_id) JOIN written w USING (place) GROUP BY 1, 2, 3
  ), caps_locked AS (
    SELECT c.account_id, c.channel, c.person FROM message_caps c JOIN released USING (account_id, channel, person) ORDER BY 1, 2, 3 FOR UPDATE OF c
  ), caps AS (
    UPDATE message_caps c SET reserved = c.reserved - r.message_ids FROM released r JOIN caps_locked l USING (account_id, channel, person)
    WHERE c.account_id = r.account_id AND c.channel = r.channel AND c.person = r.person
  ), outbox AS (
    INSERT INTO message_outbox (account_id, outcomes)
    SELECT w.account_id, o.outcomes FROM unnest($23::integer[], $24::bytea[]) AS o (place, outcomes) JOIN written w USING (place)
  )
  SELECT i.place::integer AS place, w.place IS NOT NULL AS is_written,
    coalesce(w.may_open, r.may_open) AS may_open, r.cancelled, extract(epoch FROM r.deadline_at)::float8 * 1000 AS deadline_at,
    -- an earlier execution of this statement took effect, and its answer was lost
    w.place IS NULL AND c.fence = i.fence + 1 AND (c.leased_by = i.owner OR (i.release_until IS NOT NULL AND c.leased_by IS NULL)) AS was_written,
    CASE WHEN w.place IS NULL THEN c.opened = i.opened END AS has_opened
  FROM input i JOIN run r ON r.id = i.run_id LEFT JOIN written w ON w.place = i.place
  LEFT JOIN message_chunks c ON c.run_id = i.run_id AND c.chunk = i.chunk`;

interface Row {
  place: number;
  is_written: boolean;
  may_open: boolean;
  cancelled: boolean;
  deadline_at: number | null;
  was_written: boolean;
  has_opened: boolean | null;
}

export interface LeaseTerms {
  /** Of a chunk, ms. */
  leaseMs: number;
}

/**
 * Writes some chunks at once, each of them as a whole or not at all. It may be executed again after
 * its answer was lost. Rejects when PostgreSQL does.
 */
export async function writeChunks(
  database: Pick<Database, 'query'>,
  writes: readonly ChunkWrite[],
  terms: LeaseTerms,
): Promise<WriteAnswer[]> {
  const { rows } = await database.query<Row>(WRITE, parametersOf(writes, terms));
  const byPlace = new Map(rows.map((row) => [row.place, row]));
  return writes.map((write, at) => {
    const row = byPlace.get(at + 1);
    if (!row || !(row.is_written || row.was_written)) return { kind: 'lost' };
    const opensNone = write.opened.equals(write.openedIfHeld);
    const mayOpen = row.is_written || opensNone ? row.may_open : row.has_opened === true;
    const deadlineAt = row.deadline_at ?? undefined;
    return { kind: 'written', mayOpen, isCancelled: row.cancelled, deadlineAt };
  });
}

function parametersOf(writes: readonly ChunkWrite[], { leaseMs }: LeaseTerms): unknown[] {
  const places = <T>(of: (write: ChunkWrite) => readonly T[]) =>
    writes.flatMap((write, at) => of(write).map((one) => ({ place: at + 1, ...one })));
  const counts = places(({ counts }) => counts);
  const meters = places(({ meters }) => meters);
  const caps = places(({ capReleases }) => capReleases);
  const outcomes = places(({ outcomes }) => (outcomes.length > 0 ? [{ outcomes }] : []));
  return [
    ...[writes.map(({ owner }) => owner), leaseMs],
    ...[writes.map(({ runId }) => runId), writes.map(({ chunk }) => chunk)],
    writes.map(({ fence }) => fence),
    ...[writes.map(({ opened }) => opened), writes.map(({ openedIfHeld }) => openedIfHeld)],
    ...[writes.map(({ openedWith }) => openedWith), writes.map(({ finished }) => finished)],
    writes.map(({ retries }) => JSON.stringify(retries)),
    writes.map(({ isDone }) => isDone),
    writes.map(({ releaseUntil }) => releaseUntil ?? null),
    counts.map(({ place }) => place),
    counts.map(({ status }) => status),
    counts.map(({ reason }) => reason),
    counts.map(({ messages }) => messages),
    meters.map(({ place }) => place),
    meters.map(({ month }) => month),
    meters.map(({ messages }) => messages),
    caps.map(({ place }) => place),
    caps.map(({ person }) => person),
    caps.map(({ messageId }) => messageId),
    outcomes.map(({ place }) => place),
    outcomes.map((one) => one.outcomes),
  ];
}
