import { CommandError } from '../../../cli/command.ts';
import { recordAudit } from '../../../platform/audit.ts';
import { delay } from '../../../platform/backoff.ts';
import { topicEnds } from '../../../platform/kafka/admin.ts';
import type { LogProducer } from '../../../platform/kafka/producer.ts';
import { exactTopic } from '../../../platform/kafka/topic-names.ts';
import type { FormerTopic } from '../../../platform/log/layout.ts';
import { readWriters, WRITER_LIVES_FOR } from '../../../platform/log/writers.ts';
import { layoutOf } from '../grow/read-view.ts';
import { copyPartition } from './copy-partition.ts';
import type { RewriteRequest } from './rewrite.ts';
import { endsOf, openProducer, type RewriteServers } from './servers.ts';

const POLL = 250;

/**
 * Copies what a suspended process appended to the former topic after the switch, then deletes it.
 * Resolves with the number of these records. They get new offsets: nothing has read them.
 */
export async function removeFormerTopic(
  servers: RewriteServers,
  request: RewriteRequest,
): Promise<{ late: number }> {
  const { admin, database } = servers;
  const { topic } = request;
  const layout = await layoutOf(servers);
  const former = layout.formerTopics[topic];
  if (!former) return { late: 0 };
  await untilFollowed(servers, request, layout.generation);
  const to = layout.topics[topic] ?? topic;
  let late = 0;
  // A killed command may have deleted it.
  if ((await admin.listTopics()).includes(former.name)) {
    let ends: ReadonlyMap<number, number> = new Map(
      Object.entries(former.ends).map(([partition, end]) => [Number(partition), end]),
    );
    for (;;) {
      const now = await endsOf(admin, former.name);
      if ([...now].every(([partition, high]) => high <= (ends.get(partition) ?? 0))) break;
      late += await copyLate(servers, request, { former, to, ends, now });
      ends = now;
    }
    await admin.deleteTopics({ topics: [former.name] });
  }
  await recordAudit(database, {
    ...{ accountId: null, actor: 'operator', action: 'log.former_topic_removed' },
    details: { topic, name: former.name, late },
  });
  await database.query('UPDATE log_layout SET former_topics = former_topics - $1::text', [topic]);
  return { late };
}

/** A writer that was suspended and goes on has read the new name when it registers it. */
async function untilFollowed(
  { database }: RewriteServers,
  { timeout, signal }: RewriteRequest,
  generation: number,
): Promise<void> {
  for (const deadline = performance.now() + timeout; ;) {
    const open = (await readWriters(database)).filter(
      (one) => one.age < WRITER_LIVES_FOR && one.generation > 0 && one.generation < generation,
    );
    if (open.length === 0) return;
    if (performance.now() > deadline)
      throw new CommandError(
        `waiting for ${open.map(({ service, instance }) => `${service} ${instance}`).join(', ')} to use the rewritten topic: run the same command again`,
      );
    await delay(POLL, signal);
  }
}

async function copyLate(
  servers: RewriteServers,
  { transform, signal }: RewriteRequest,
  of: {
    former: FormerTopic;
    to: string;
    ends: ReadonlyMap<number, number>;
    now: ReadonlyMap<number, number>;
  },
): Promise<number> {
  const { admin, settings } = servers;
  const producer = await openProducer(servers);
  let late = 0;
  try {
    for (const { partition, low } of await topicEnds(admin, exactTopic(of.former.name))) {
      const copied = Math.max(low, of.ends.get(partition) ?? 0);
      await copyPartition({
        ...{ settings, from: of.former.name, to: of.to, partition, transform, signal },
        producer: { ...producer, publish: appendAnywhere(producer, copied) },
        ...{ low: copied, high: of.now.get(partition) ?? 0, copied },
        beforeAppend: () => Promise.resolve(),
        progressed: (count) => (late += count),
      });
    }
  } finally {
    await producer.close(1000);
  }
  return late;
}

/** Publishes one after the other, and answers the offsets that the former topic had. */
function appendAnywhere(producer: LogProducer, from: number): LogProducer['publish'] {
  let next = from;
  return async (record) => {
    const offset = next++;
    await producer.publish(record);
    return offset;
  };
}
