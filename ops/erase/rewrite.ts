import type { ErasedPeople } from '../../events/erasure/erased-people.ts';
import { delay } from '../../platform/backoff.ts';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { exactTopic } from '../../platform/kafka/topic-names.ts';
import { readLayout } from '../../platform/log/layout.ts';
import { useTopicNames } from '../../platform/log/topic-names.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import { eraserOf, readErasuresById, PERSONAL_TOPICS } from '../../platform/log/erasures.ts';
import { CommandError } from '../../cli/command.ts';
import { CONSUMER_GROUPS, TOPIC, type Topic } from '../../schemas/topology.ts';
import type { Connections } from '../jobs/connections.ts';
import type { Transform } from '../log/rewrite/copy-partition.ts';
import { removeFormerTopic } from '../log/rewrite/remove-former.ts';
import { rewriteTopic } from '../log/rewrite/rewrite.ts';
import { ClickhouseRows } from './clickhouse-rows.ts';
import { ErasureStore } from './erasure-store.ts';
import { removeEmptiedRecipients } from './messages.ts';
import { RewriteStore, type TopicRewrite } from './rewrite-store.ts';
import { eachShard } from '../../platform/clickhouse/shards.ts';

interface RewriteRun {
  signal: AbortSignal;
  /** How long writers may hold, and how long groups may take to change over, ms. */
  timeout: number;
  report: (sentence: string) => void;
}

const NO_BYTES = Buffer.alloc(0);

/**
 * Rewrites the topics that hold personal data without the events of all people that were removed
 * from the other stores. A killed command is continued by the next one, for the same people.
 * Resolves with the erasures that are complete in the log.
 */
export async function rewriteLog(connections: Connections, run: RewriteRun): Promise<number[]> {
  const { database } = connections;
  const store = new RewriteStore(database);
  const isBegun = (await store.all()).length > 0;
  const former = Object.keys((await readLayout(database))?.formerTopics ?? {});
  if (!isBegun && former.length > 0)
    throw new CommandError(
      `a former topic of ${former.join(' and ')} is still there: remove it first`,
    );
  const erasures = await store.begin(PERSONAL_TOPICS);
  if (erasures.length === 0) return [];
  for (const client of eachShard(connections.clickhouse)) {
    const rows = new ClickhouseRows(client, connections.settings.CLICKHOUSE_CLUSTER);
    await removeEmptiedRecipients(database, rows);
  }
  for (const one of await store.all()) await rewriteOne(connections, { store, one, run });
  await new ErasureStore(database).rewritten(erasures);
  await store.end();
  return erasures;
}

async function rewriteOne(
  connections: Connections,
  { store, one, run }: { store: RewriteStore; one: TopicRewrite; run: RewriteRun },
): Promise<void> {
  const { topic } = one;
  const { signal, report, timeout } = run;
  const erase = await eraseFrom(connections, one);
  const transform: Transform = (record) => {
    const { key, value } = record;
    const left = erase(record);
    // The key of a dead letter or a command may name the person, too.
    return left ? { key: null, value: left } : { key, value: value ?? NO_BYTES };
  };
  const request = { topic, transform, timeout, signal, report };
  if (one.state === 'waiting') {
    const layout = await readLayout(connections.database);
    // A command that was killed after the switch; none of these existed when the rewriting began.
    const isSwitched = layout?.formerTopics[topic] !== undefined;
    const isBegun = isSwitched || layout?.change !== undefined;
    if (!isBegun && !(await holdsErased(connections, { topic, erase, signal }))) {
      report(`${topic} holds nothing of them`);
      await store.advance(topic, 'done');
      return;
    }
    if (!isSwitched) await rewriteTopic(connections, request);
    await store.advance(topic, 'switched');
  }
  if (one.state === 'done') return;
  await untilChangedOver(connections, { topic, run });
  const { late } = await removeFormerTopic(connections, request);
  report(`the former ${topic} is removed${late === 0 ? '' : `, after ${late} late records`}`);
  await store.advance(topic, 'done');
}

type EraseFrom = (record: ConsumedMessage) => Buffer | undefined;

async function eraseFrom(
  { database }: Connections,
  { topic, erasures }: TopicRewrite,
): Promise<EraseFrom> {
  const erased: ErasedPeople = await readErasuresById(database, erasures);
  return eraserOf(topic, erased, {
    raw: await readEpochs(database, TOPIC.raw),
    dead: await readEpochs(database, TOPIC.dead),
  });
}

/** Whether a record of the topic would change; a topic of which none does is not copied. */
async function holdsErased(
  { admin, settings }: Connections,
  { topic, erase, signal }: { topic: Topic; erase: EraseFrom; signal: AbortSignal },
): Promise<boolean> {
  for (const { partition, low, high } of await topicEnds(admin, topic)) {
    const range = { topic, partition, from: low, to: high };
    for await (const messages of readRange({ settings, clientId: 'ravand-erase', range, signal }))
      if (messages.some((message) => erase(message) !== undefined)) return true;
  }
  return false;
}

const POLL = 500;

/** A group whose offset is that of the former topic only would begin again without it. */
async function untilChangedOver(
  { admin, database }: Connections,
  { topic, run }: { topic: Topic; run: RewriteRun },
): Promise<void> {
  const layout = await readLayout(database);
  const former = layout?.formerTopics[topic]?.name;
  if (!layout || former === undefined) return;
  await useTopicNames(layout);
  const deadline = performance.now() + run.timeout;
  for (;;) {
    const waiting: string[] = [];
    for (const { group } of CONSUMER_GROUPS.filter((one) => one.topic === topic)) {
      const before = await committedOffsets(admin, group, exactTopic(former));
      const now = await committedOffsets(admin, group, topic);
      const isMissing = [...before].some(
        ([partition, offset]) => offset !== undefined && now.get(partition) === undefined,
      );
      if (isMissing) waiting.push(group);
    }
    if (waiting.length === 0) return;
    if (performance.now() > deadline)
      throw new CommandError(
        `${waiting.join(' and ')} does not read the rewritten ${topic}: check that its service runs, then run the same command again`,
      );
    await delay(POLL, run.signal);
  }
}
