import { offsetAfter, type EpochStart } from '../../../platform/log/epochs.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import type { MessageChunk } from '../../../schemas/records.ts';
import { emptyBits } from '../chunk/bits.ts';

type Queries = Pick<Database, 'query'>;

/** Up to where a partition of messages.planned is in message_chunks; `next`: offset. */
export interface IntakePosition {
  partition: number;
  epoch: number;
  next: number;
}

/** A chunk and its record in messages.planned. */
export interface PlannedChunk {
  chunk: MessageChunk;
  record: Buffer;
}

/**
 * The chunks of runs that send and their position, in one statement. A chunk whose freeze is not
 * the one that its run recorded was written by a planner that had lost its lease, or comes from
 * before PostgreSQL was restored: nobody counted its people. The position only rises.
 */
const COPY = `WITH input AS MATERIALIZED (
    SELECT * FROM unnest($4::bigint[], $5::integer[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[], $10::integer[], $11::text[], $12::bytea[])
      AS i (run_id, chunk, account_id, campaign_id, planned_at, record, recipients, first_key, no_bits)
  ), copied AS (
    INSERT INTO message_chunks (run_id, chunk, account_id, campaign_id, channel, record, recipients, first_key, opened, finished)
    SELECT i.run_id, i.chunk, i.account_id, i.campaign_id, coalesce(r.definition ->> 'channel', c.channel), i.record, i.recipients, i.first_key, i.no_bits, i.no_bits
    FROM input i JOIN campaign_runs r ON r.id = i.run_id AND r.account_id = i.account_id AND r.campaign_id = i.campaign_id JOIN campaigns c ON c.id = r.campaign_id
    WHERE r.state IN ('planning', 'sending') AND (extract(epoch FROM r.frozen_at) * 1000)::bigint = i.planned_at
    ORDER BY i.run_id, i.chunk
    ON CONFLICT DO NOTHING RETURNING 1
  ), moved AS (
    INSERT INTO message_positions AS p (partition, epoch, next_offset) VALUES ($1, $2, $3)
    ON CONFLICT (partition) DO UPDATE SET epoch = excluded.epoch, next_offset = excluded.next_offset
      WHERE (p.epoch, p.next_offset) < (excluded.epoch, excluded.next_offset)
  )
  SELECT count(*)::integer AS copied FROM copied`;

/** Copies chunks and their position. Answers how many were new. Rejects when PostgreSQL does. */
export async function copyChunks(
  database: Queries,
  planned: readonly PlannedChunk[],
  { partition, epoch, next }: IntakePosition,
): Promise<number> {
  const chunks = planned.map(({ chunk }) => chunk);
  const { rows } = await database.query<{ copied: number }>(COPY, [
    ...[partition, epoch, next],
    chunks.map(({ run_id }) => run_id),
    chunks.map(({ chunk }) => chunk),
    chunks.map(({ account_id }) => account_id),
    chunks.map(({ campaign_id }) => campaign_id),
    chunks.map(({ planned_at }) => planned_at),
    planned.map(({ record }) => record),
    chunks.map(({ recipients }) => recipients.length),
    chunks.map(({ first_key }) => first_key),
    chunks.map(({ recipients }) => emptyBits(recipients.length)),
  ]);
  return rows[0]?.copied ?? 0;
}

/** The first offset of a partition that is not in message_chunks; 0: nothing of it is. */
export async function firstUncopied(
  database: Queries,
  partition: number,
  starts: readonly EpochStart[],
): Promise<number> {
  const { rows } = await database.query<{ epoch: number; next_offset: string }>(
    'SELECT epoch, next_offset FROM message_positions WHERE partition = $1',
    [partition],
  );
  const [row] = rows;
  if (!row) return 0;
  return offsetAfter(starts, { epoch: row.epoch, offset: Number(row.next_offset) - 1 });
}
