import type { Database } from '../postgres/pool.ts';
import { sharedRead } from '../shared-read.ts';

/**
 * Phases of a change of the layout. From `holding` on every writer of events.raw holds its records,
 * until the phase is `steady` again.
 */
export type LayoutPhase = 'steady' | 'preparing' | 'holding' | 'switching' | 'draining';

/** From this epoch of events.raw on, the number of partitions applies. */
export interface Generation {
  generation: number;
  partitions: number;
  epoch: number;
}

/** The row of log_layout. */
export interface LogLayout {
  /** Rises when a change takes effect. */
  generation: number;
  /** Partitions in use of events.raw, events.normalised, events.verdicts and ingest.outcomes. */
  partitions: number;
  /** Partitions that were created on purpose; at least `partitions`. */
  created: number;
  phase: LayoutPhase;
  /** Partitions after the change in progress. */
  nextPartitions: number | undefined;
  /** What is in progress. */
  change: Readonly<Record<string, unknown>> | undefined;
  /** Physical names by logical ones; a topic without an entry has the same name. */
  topics: Readonly<Record<string, string>>;
  /** What was replaced by rewritten topics and is still there, by logical name. */
  formerTopics: Readonly<Record<string, FormerTopic>>;
  /** Ascending by generation. */
  history: readonly Generation[];
}

/** A topic that was replaced. */
export interface FormerTopic {
  /** The physical name. */
  name: string;
  /** By partition, the end up to which it was copied. */
  ends: Readonly<Record<string, number>>;
}

export interface LayoutRow extends Pick<
  LogLayout,
  'generation' | 'partitions' | 'created' | 'phase' | 'topics' | 'history'
> {
  next_partitions: number | null;
  change: Readonly<Record<string, unknown>> | null;
  former_topics: Readonly<Record<string, FormerTopic>>;
}

type Queries = Pick<Database, 'query'>;

export const LAYOUT_COLUMNS =
  'generation, partitions, created, phase, next_partitions, change, topics, former_topics, history';

const READ = `SELECT ${LAYOUT_COLUMNS} FROM log_layout`;

/** The recorded layout; undefined before it was recorded. */
export function readLayout(database: Queries): Promise<LogLayout | undefined> {
  return sharedRead(database, 'layout', async () => {
    const { rows } = await database.query<LayoutRow>(READ);
    const [row] = rows;
    return row && layoutOf(row);
  });
}

export function layoutOf(row: LayoutRow): LogLayout {
  const { next_partitions: next, change, former_topics: formerTopics, ...rest } = row;
  return { ...rest, nextPartitions: next ?? undefined, change: change ?? undefined, formerTopics };
}

/**
 * The recorded layout; an installation that has none records the number of partitions that its
 * topics have now.
 */
export async function recordedLayout(
  database: Queries,
  { partitions }: { partitions: number },
): Promise<LogLayout> {
  const known = await readLayout(database);
  if (known) return known;
  await database.query(
    `INSERT INTO log_layout (partitions, created, history)
     VALUES ($1, $1, jsonb_build_array(jsonb_build_object(
       'generation', 1, 'partitions', $1::integer, 'epoch', 0)))
     ON CONFLICT (id) DO NOTHING`,
    [partitions],
  );
  const recorded = await readLayout(database);
  if (!recorded) throw new Error('the layout of the log cannot be recorded in log_layout');
  return recorded;
}

/** The number of partitions that applies to raw records of an epoch. */
export function partitionsAt(layout: LogLayout, epoch: number): number {
  const latest = layout.history.findLast((one) => one.epoch <= epoch);
  return latest?.partitions ?? layout.history[0]?.partitions ?? layout.partitions;
}

/**
 * Whether the number of partitions of an epoch applies: everything before it is processed. Until
 * then the normaliser stays before the marks of the epoch.
 */
export function isInForce({ history, generation }: LogLayout, epoch: number): boolean {
  const begun = history.find((one) => one.epoch === epoch);
  return begun !== undefined && begun.generation <= generation;
}

/** True while writers of events.raw must hold their records. */
export function isHeld({ phase }: Pick<LogLayout, 'phase'>): boolean {
  return phase === 'holding' || phase === 'switching' || phase === 'draining';
}

/**
 * True while a topic is being replaced: consumers end, and do not start. They and the command agree
 * on this row: a consumer joins its group before it reads the row, and the command writes the row
 * before it reads the groups.
 */
export function isBeingReplaced({ phase, change }: Pick<LogLayout, 'phase' | 'change'>): boolean {
  return phase === 'switching' && change?.['kind'] === 'rewrite';
}

const RELEASE = `UPDATE log_layout SET phase = 'preparing', changed_at = clock_timestamp()
  WHERE phase IN ('holding', 'switching') AND change->>'kind' = 'rewrite'
    AND changed_at < clock_timestamp() - interval '30 seconds'`;

/**
 * A rewrite whose command was killed does not stop the others for ever: it renews `changed_at` each
 * second, and after thirty without it writers and consumers go on. Nothing has changed for them.
 */
export async function releaseAbandonedRewrite(database: Queries): Promise<void> {
  await database.query(RELEASE);
}

/**
 * What is wrong with the numbers of partitions that Kafka has, in one sentence; undefined when they
 * agree with the layout. During a growth both numbers are right.
 */
export function partitionsProblem(
  layout: LogLayout,
  found: ReadonlyMap<string, number>,
): string | undefined {
  const { partitions, created, nextPartitions } = layout;
  const most = Math.max(created, nextPartitions ?? 0);
  const wrong = [...found].filter(([, count]) => count < partitions || count > most);
  if (wrong.length === 0) return undefined;
  const counts = wrong.map(([topic, count]) => `${topic} has ${count}`).join(', ');
  const more = wrong.some(([, count]) => count > most);
  return (
    `the number of partitions was changed without ./ravand log grow: ${counts} instead of ${partitions}. ` +
    (more
      ? `Only the first ${partitions} are used: the number decides the partition of a person. Run ./ravand log grow --partitions N with the largest of these numbers, or a larger one`
      : 'Records of the missing partitions cannot be published: restore the topic')
  );
}
