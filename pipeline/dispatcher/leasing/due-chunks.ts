import type { Database } from '../../../platform/postgres/pool.ts';

/** Chunks that may be sent and that nobody has leased. */
export interface DueChunks {
  /** At most 100 of each run are counted. */
  due: number;
  /** For how long the one has waited that waits for longest, s; 0 without one. */
  dueSeconds: number;
}

const DUE = `SELECT count(c.next_at)::integer AS due, coalesce(extract(epoch FROM now() - min(c.next_at)), 0)::float8 AS due_seconds
  FROM campaign_runs r JOIN accounts a ON a.id = r.account_id CROSS JOIN LATERAL (
    SELECT m.next_at FROM message_chunks m
    WHERE m.run_id = r.id AND NOT m.is_done AND m.next_at <= now() AND (m.leased_until IS NULL OR m.leased_until < now())
    ORDER BY m.next_at LIMIT 100
  ) c
  WHERE r.state IN ('planning', 'sending') AND (r.cancelled OR (NOT r.paused AND a.status = 'active'))`;

/** Rejects when PostgreSQL does. */
export async function dueChunks(database: Pick<Database, 'query'>): Promise<DueChunks> {
  const { rows } = await database.query<{ due: number; due_seconds: number }>(DUE);
  const [row] = rows;
  return { due: row?.due ?? 0, dueSeconds: row?.due_seconds ?? 0 };
}
