import type { Database } from '../postgres/pool.ts';
import type { RecordEvidence } from './evidence.ts';
import { sharedRead } from '../shared-read.ts';

export interface TopicPartition {
  topic: string;
  partition: number;
}

/** Evidence of a reader that knew no later epoch of the log than this; undefined: it knows all. */
export interface NewEvidence extends TopicPartition, RecordEvidence {
  epoch?: number | undefined;
}

export interface StoredEvidence extends TopicPartition, RecordEvidence {
  reader: string;
}

// The epochs that replaced what evidence `e` is about: others begin at the end of the log.
const REPLACING = `SELECT 1 FROM log_epochs AS s WHERE s.topic = e.topic AND s.partition = e.partition
    AND s.reason = 'the log went back' AND s.first_offset < e.next_offset`;
// A repeated or late write never replaces evidence about a later record. A process that was cut off
// while an epoch began may write about records that are gone.
const WRITE = `INSERT INTO log_evidence (reader, topic, partition, next_offset, appended_at, checksum)
  SELECT $1, topic, partition, next_offset, appended_at, checksum
  FROM unnest($2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::int[])
    AS e (topic, partition, next_offset, appended_at, checksum, known)
  WHERE NOT EXISTS (${REPLACING} AND s.epoch > e.known)
  ON CONFLICT (reader, topic, partition) DO UPDATE SET next_offset = excluded.next_offset,
    appended_at = excluded.appended_at, checksum = excluded.checksum, updated_at = now()
  WHERE log_evidence.next_offset < excluded.next_offset`;

// Evidence that an epoch replaced, and that a reader wrote while that epoch began, says nothing
// about the records that are there now.
const READ = `SELECT reader, topic, partition, next_offset, appended_at, checksum FROM log_evidence AS e
  WHERE NOT EXISTS (${REPLACING} AND s.created_at >= e.updated_at)`;
const READ_OF = `${READ} AND (topic, partition) IN (SELECT * FROM unnest($1::text[], $2::int[]))`;

interface Row extends TopicPartition {
  reader: string;
  next_offset: string;
  appended_at: string;
  checksum: string;
}

/** Writes evidence of one reader, each partition at most once. Rejects without PostgreSQL. */
export async function writeEvidence(
  database: Pick<Database, 'query'>,
  reader: string,
  found: readonly NewEvidence[],
): Promise<void> {
  await database.query(WRITE, [
    reader,
    found.map(({ topic }) => topic),
    found.map(({ partition }) => partition),
    found.map(({ next }) => next),
    found.map(({ appendedAt }) => appendedAt),
    found.map(({ checksum }) => checksum),
    found.map(({ epoch }) => epoch ?? null),
  ]);
}

/** The evidence of all readers about these partitions, or about all. */
export async function readEvidence(
  database: Pick<Database, 'query'>,
  partitions?: readonly TopicPartition[],
): Promise<StoredEvidence[]> {
  const { rows } = await (partitions === undefined
    ? database.query<Row>(READ)
    : database.query<Row>(READ_OF, [
        partitions.map(({ topic }) => topic),
        partitions.map(({ partition }) => partition),
      ]));
  return rows.map(({ next_offset, appended_at, checksum, ...of }) => ({
    ...of,
    next: Number(next_offset),
    appendedAt: Number(appended_at),
    checksum: Number(checksum),
  }));
}

const ADVANCES = `SELECT (SELECT coalesce(max(epoch), 0) FROM log_epochs) AS epoch,
  EXISTS (SELECT 1 FROM log_advances WHERE state = 'running') AS is_unfinished`;

/**
 * The newest epoch of any partition, and whether `./ravand log advance-epoch` was killed before it
 * was finished. Each of its epochs is newer than all before (advance-epoch/plan.ts).
 */
export function readAdvances(
  database: Pick<Database, 'query'>,
): Promise<{ epoch: number; isUnfinished: boolean }> {
  return sharedRead(database, 'advances', async () => {
    const { rows } = await database.query<{ epoch: number; is_unfinished: boolean }>(ADVANCES);
    return { epoch: rows[0]?.epoch ?? 0, isUnfinished: rows[0]?.is_unfinished === true };
  });
}
