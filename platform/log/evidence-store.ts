import type { Database } from '../postgres/pool.ts';
import type { RecordEvidence } from './evidence.ts';

export interface TopicPartition {
  topic: string;
  partition: number;
}

export interface StoredEvidence extends TopicPartition, RecordEvidence {
  reader: string;
}

// A repeated or late write never replaces evidence about a later record.
const WRITE = `INSERT INTO log_evidence (reader, topic, partition, next_offset, appended_at, checksum)
  SELECT $1, * FROM unnest($2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[])
  ON CONFLICT (reader, topic, partition) DO UPDATE SET next_offset = excluded.next_offset,
    appended_at = excluded.appended_at, checksum = excluded.checksum, updated_at = now()
  WHERE log_evidence.next_offset < excluded.next_offset`;

// Evidence that an epoch replaced, and that a reader wrote while that epoch began, says nothing
// about the records that are there now.
const READ = `SELECT reader, topic, partition, next_offset, appended_at, checksum FROM log_evidence AS e
  WHERE NOT EXISTS (SELECT 1 FROM log_epochs AS s WHERE s.topic = e.topic AND s.partition = e.partition
    AND s.first_offset < e.next_offset AND s.created_at >= e.updated_at)`;
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
  found: readonly (TopicPartition & RecordEvidence)[],
): Promise<void> {
  await database.query(WRITE, [
    reader,
    found.map(({ topic }) => topic),
    found.map(({ partition }) => partition),
    found.map(({ next }) => next),
    found.map(({ appendedAt }) => appendedAt),
    found.map(({ checksum }) => checksum),
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

/** Whether `./ravand log advance-epoch` was killed before it was finished. */
export async function advanceUnfinished(database: Pick<Database, 'query'>): Promise<boolean> {
  const { rows } = await database.query("SELECT 1 FROM log_advances WHERE state = 'running'");
  return rows.length > 0;
}
