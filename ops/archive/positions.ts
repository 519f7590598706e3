import { hash } from 'node:crypto';
import type { Database } from '../../platform/postgres/pool.ts';
import { writeEvidence, type TopicPartition } from '../../platform/log/evidence-store.ts';
import type { RecordEvidence } from '../../platform/log/evidence.ts';

/** The reader of the evidence. */
const READER = 'archive';

/** Where a topic is archived: positions in another store, or of a rewritten topic, are others. */
export interface ArchivedTopic {
  topic: string;
  physical: string;
  store: string;
}

function readerOf({ physical, store }: ArchivedTopic): string {
  return `${READER}.${hash('sha256', store).slice(0, 16)}.${physical}`;
}

/** The offset up to which each partition was archived, as far as PostgreSQL knows. */
export async function readPositions(
  database: Database,
  of: ArchivedTopic,
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await database.query<{ partition: number; next_offset: string }>(
    'SELECT partition, next_offset FROM log_positions WHERE reader = $1 AND topic = $2',
    [readerOf(of), of.topic],
  );
  return new Map(rows.map(({ partition, next_offset }) => [partition, Number(next_offset)]));
}

// An epoch that began meanwhile has set the position back.
const WRITE = `INSERT INTO log_positions (reader, topic, partition, next_offset) SELECT $1, $2, $3, $4
  WHERE NOT EXISTS (SELECT 1 FROM log_epochs WHERE epoch > $5)
  ON CONFLICT (reader, topic, partition) DO UPDATE SET next_offset = excluded.next_offset, updated_at = now()`;

/** What is read of a partition is known before it is archived: as every reader does it. */
export async function writeRead(
  database: Database,
  of: TopicPartition & RecordEvidence & { epoch: number },
): Promise<void> {
  await writeEvidence(database, READER, [of]);
}

/** @param of.epoch newest epoch that is known */
export async function writePosition(
  database: Database,
  of: ArchivedTopic & { partition: number; next: number; epoch: number },
): Promise<void> {
  const { topic, partition, next, epoch } = of;
  await database.query(WRITE, [readerOf(of), topic, partition, next, epoch]);
}
