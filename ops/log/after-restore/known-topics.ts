import type { Admin } from 'kafkajs';
import { CommandError } from '../../../cli/command.ts';
import { topicEnds } from '../../../platform/kafka/admin.ts';
import { exactTopic } from '../../../platform/kafka/topic-names.ts';
import { partitionsProblem, readLayout, type LogLayout } from '../../../platform/log/layout.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { TOPICS } from '../../../schemas/topology.ts';
import { GROWING } from '../grow/read-view.ts';
import { isOpenCopy } from '../rewrite/copy-settings.ts';

/** What Kafka has. */
export interface PresentTopics {
  names: readonly string[];
  /** Copies that no command has completed. */
  openCopies: readonly string[];
  /** Partitions of the topics that grow, by logical name; those that are missing are absent. */
  counts: ReadonlyMap<string, number>;
}

/** Throws CommandError when the log was rewritten or grew after the backup of PostgreSQL. */
export async function requireKnownTopics({
  admin,
  database,
}: {
  admin: Admin;
  database: Pick<Database, 'query'>;
}): Promise<void> {
  const layout = await readLayout(database);
  const problem = backupProblem(layout, await presentTopics(admin, layout));
  if (problem !== undefined) throw new CommandError(problem);
}

export async function presentTopics(
  admin: Admin,
  layout: Pick<LogLayout, 'topics'> | undefined,
): Promise<PresentTopics> {
  const names = await admin.listTopics();
  const openCopies: string[] = [];
  for (const name of TOPICS.flatMap(({ topic }) => copiesOf(topic, names)))
    if (await isOpenCopy(admin, name)) openCopies.push(name);
  const counts = new Map<string, number>();
  for (const topic of GROWING) {
    const name = layout?.topics[topic] ?? topic;
    if (names.includes(name)) counts.set(topic, (await topicEnds(admin, exactTopic(name))).length);
  }
  return { names, openCopies, counts };
}

const LATER =
  'this PostgreSQL is from before that. Restore a backup from after it; if there is none, docs/on-call.md says what to do (A backup from before a rewrite)';

/**
 * Why the layout is older than the topics, in one sentence; undefined: it is not.
 * @param layout undefined: PostgreSQL knows none
 */
export function backupProblem(
  layout: LogLayout | undefined,
  { names, openCopies, counts }: PresentTopics,
): string | undefined {
  for (const { topic } of TOPICS) {
    const current = layout?.topics[topic] ?? topic;
    const former = layout?.formerTopics[topic]?.name;
    const later = copiesOf(topic, names).filter(
      (name) => name !== current && name !== former && !openCopies.includes(name),
    );
    if (later.length > 0)
      return `${topic} was rewritten into ${later.join(' and ')} (./ravand erase rewrite), and PostgreSQL names ${current}: ${LATER}`;
    if (!names.includes(current))
      return `Kafka has no topic ${current}, which PostgreSQL names for ${topic}: it was rewritten or deleted, and ${LATER}`;
  }
  const problem = layout && partitionsProblem(layout, counts);
  return problem === undefined
    ? undefined
    : `the log has other partitions than PostgreSQL knows (${[...counts].map(([topic, count]) => `${topic} ${count}`).join(', ')}, recorded ${layout?.partitions ?? 0}): it grew (./ravand log grow), and ${LATER}`;
}

/** Names that only rewrites give. */
function copiesOf(topic: string, names: readonly string[]): string[] {
  return names.filter(
    (name) => name.startsWith(`${topic}.`) && /^[0-9a-f]{8}$/.test(name.slice(topic.length + 1)),
  );
}
