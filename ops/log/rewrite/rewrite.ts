import { randomUUID } from 'node:crypto';
import type { Admin } from 'kafkajs';
import { CommandError } from '../../../cli/command.ts';
import { delay } from '../../../platform/backoff.ts';
import { recordAudit } from '../../../platform/audit.ts';
import { topicEnds } from '../../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import { connectProducer } from '../../../platform/kafka/producer.ts';
import { exactTopic } from '../../../platform/kafka/topic-names.ts';
import type { Log } from '../../../platform/log.ts';
import type { LogLayout } from '../../../platform/log/layout.ts';
import { readWriters } from '../../../platform/log/writers.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import type { Topic } from '../../../schemas/topology.ts';
import { layoutOf, readBehind } from '../grow/read-view.ts';
import { requireAgreedLog } from '../agreed-log.ts';
import { CopyDiffers, copyPartition, type Transform } from './copy-partition.ts';
import { createCopy, fence, replaceSettings, unfence, unfencedSettings } from './copy-settings.ts';
import { nextStep, type RewriteView } from './plan.ts';

export interface RewriteServers {
  admin: Admin;
  database: Database;
  settings: KafkaSettings;
  log: Log;
}

export interface RewriteRequest {
  topic: Topic;
  /** Called once for each record, or again after a kill: it must answer the same. */
  transform: Transform;
  /** Writers hold at most so long, ms; then the rewrite is given up until the next command. */
  timeout: number;
  signal: AbortSignal;
  report: (sentence: string) => void;
}

interface RewriteChange {
  id: string;
  kind: 'rewrite';
  topic: Topic;
  from: string;
  to: string;
}

const POLL = 250;
const PUBLISH_MS = 60_000;
const MIB = 1024 * 1024;

/**
 * Replaces a topic by a copy of it, in which every record is what `transform` makes of it, at the
 * same offset and with the same append time. The history is copied under load; then writers hold,
 * the rest is copied, and the physical name in log_layout changes: groups go on from the offsets
 * that they committed. The former topic stays until `removeFormerTopic`. A killed rewrite is
 * continued by the next call for the same topic.
 */
export async function rewriteTopic(
  servers: RewriteServers,
  request: RewriteRequest,
): Promise<{ from: string; to: string; records: number }> {
  const { topic, signal, report } = request;
  let records = 0;
  let heldSince: number | undefined;
  for (;;) {
    signal.throwIfAborted();
    const view = await readView(servers, topic);
    const { layout } = view;
    const step = nextStep(view);
    if (layout.phase === 'holding') heldSince ??= performance.now();
    switch (step.step) {
      case 'begin':
        await requireAgreedLog(servers, [topic]);
        report(`${topic} is copied`);
        await begin(servers, layout, topic);
        break;
      case 'create':
        await createCopy(servers.admin, changeOf(layout, topic));
        break;
      case 'copy':
        records += await copyAll(servers, request, layout);
        break;
      case 'hold':
        report('writers hold new records in their spools');
        await setPhase(servers.database, layout, 'holding');
        break;
      case 'wait':
        if (heldSince !== undefined && performance.now() - heldSince > request.timeout) {
          await setPhase(servers.database, layout, 'preparing');
          throw new CommandError(
            `it waited too long for ${step.for.join('; for ')}. Writers go on; the same command continues`,
          );
        }
        await delay(POLL, signal);
        break;
      case 'fence':
        await requireAgreedLog(servers, [topic]).catch((error: unknown) =>
          abandon(servers, layout, { topic, error }),
        );
        await setPhase(servers.database, layout, 'switching');
        break;
      case 'switch': {
        const { from, to } = changeOf(layout, topic);
        if (await fence(servers.admin, from)) break;
        await switchTopic(servers, layout, { from, to, topic });
        report(`${topic} is ${to} now; ${from} is kept until it is removed`);
        return { from, to, records };
      }
    }
  }
}

/** Copies what late writers appended to the former topic, then removes it. */
export async function removeFormerTopic(
  servers: RewriteServers,
  request: Omit<RewriteRequest, 'timeout'>,
): Promise<{ late: number }> {
  const { admin, database } = servers;
  const { topic, transform, signal } = request;
  const layout = await layoutOf(servers);
  const former = layout.formerTopics[topic];
  if (!former) return { late: 0 };
  const to = layout.topics[topic] ?? topic;
  const producer = await openProducer(servers);
  let late = 0;
  try {
    for (const { partition, high } of await topicEnds(admin, exactTopic(former.name))) {
      const copied = former.ends[partition] ?? 0;
      // They get new offsets: nothing has read them.
      const append = { ...producer, publish: appendAnywhere(producer, copied) };
      await copyPartition({
        ...{ settings: servers.settings, producer: append, from: former.name, to, partition },
        ...{ low: copied, high, copied, transform, signal },
        progressed: (count) => (late += count),
      });
    }
  } finally {
    await producer.close(1000);
  }
  await admin.deleteTopics({ topics: [former.name] });
  await database.query('UPDATE log_layout SET former_topics = former_topics - $1::text', [topic]);
  return { late };
}

type Producer = Awaited<ReturnType<typeof connectProducer>>;

/** Publishes one after the other, and answers the offsets that the former topic had. */
function appendAnywhere(producer: Producer, from: number): Producer['publish'] {
  let next = from;
  return async (record) => {
    const offset = next++;
    await producer.publish(record);
    return offset;
  };
}

async function readView(servers: RewriteServers, topic: Topic): Promise<RewriteView> {
  const { admin, database } = servers;
  const layout = await layoutOf(servers);
  const change = layout.change as RewriteChange | undefined;
  if (layout.phase !== 'steady' && (change?.kind !== 'rewrite' || change.topic !== topic))
    throw new CommandError('another change of the log is in progress: complete it first');
  if (layout.phase === 'steady' && layout.formerTopics[topic])
    throw new CommandError(`the topic that ${topic} replaced is still there: remove it first`);
  const isCreated =
    layout.phase !== 'steady' &&
    change !== undefined &&
    (await admin.listTopics()).includes(change.to);
  return {
    layout,
    isCreated,
    writers: await readWriters(database),
    behind: layout.phase === 'holding' ? await readBehind(servers) : [],
    left: isCreated ? await recordsLeft(admin, change) : 0,
  };
}

async function recordsLeft(admin: Admin, { from, to }: RewriteChange): Promise<number> {
  const copied = await endsOf(admin, to);
  const ends = await topicEnds(admin, exactTopic(from));
  // A copy may have more: it was made before the log went back.
  return ends.reduce(
    (sum, { partition, high }) => sum + Math.abs(high - (copied.get(partition) ?? 0)),
    0,
  );
}

async function endsOf(admin: Admin, name: string): Promise<Map<number, number>> {
  const ends = await topicEnds(admin, exactTopic(name));
  return new Map(ends.map(({ partition, high }) => [partition, high]));
}

function changeOf({ change }: LogLayout, topic: Topic): RewriteChange {
  const found = change as RewriteChange | undefined;
  if (found?.kind !== 'rewrite' || found.topic !== topic)
    throw new CommandError('another change of the log is in progress: complete it first');
  return found;
}

async function begin({ database }: RewriteServers, layout: LogLayout, topic: Topic): Promise<void> {
  const id = randomUUID();
  const change: RewriteChange = {
    ...{ id, kind: 'rewrite', topic, from: layout.topics[topic] ?? topic },
    to: `${topic}.${id.slice(0, 8)}`,
  };
  await database.query(
    `UPDATE log_layout SET phase = 'preparing', change = $1, changed_at = clock_timestamp()
     WHERE phase = 'steady'`,
    [JSON.stringify(change)],
  );
}

/**
 * A topic that went back meanwhile: the switch would remove what shows it. Nothing has changed for
 * anybody yet; the copy is removed, so that ./ravand log advance-epoch can run. Always throws.
 */
async function abandon(
  { admin, database }: RewriteServers,
  layout: LogLayout,
  { topic, error }: { topic: Topic; error: unknown },
): Promise<never> {
  if (!(error instanceof CommandError)) throw error;
  await database.query(
    `UPDATE log_layout SET phase = 'steady', change = NULL, changed_at = clock_timestamp()
     WHERE phase = $1`,
    [layout.phase],
  );
  await admin.deleteTopics({ topics: [changeOf(layout, topic).to] });
  throw error;
}

async function setPhase(
  database: Database,
  { phase }: LogLayout,
  next: LogLayout['phase'],
): Promise<void> {
  await database.query(
    'UPDATE log_layout SET phase = $2, changed_at = clock_timestamp() WHERE phase = $1',
    [phase, next],
  );
}

function openProducer({ settings, log }: RewriteServers): Promise<Producer> {
  return connectProducer({
    ...{ settings, log, clientId: 'ravand-log', timeout: PUBLISH_MS, compression: 'lz4' },
    ...{ linger: 5, pollInterval: 5, maxQueued: { records: 100_000, bytes: 128 * MIB } },
  });
}

/** Copies what the topic has now; answers the number of records. */
async function copyAll(
  servers: RewriteServers,
  { topic, transform, signal }: RewriteRequest,
  layout: LogLayout,
): Promise<number> {
  const { admin, database, settings } = servers;
  const { from, to } = changeOf(layout, topic);
  const copied = await endsOf(admin, to);
  const producer = await openProducer(servers);
  let records = 0;
  try {
    for (const { partition, low, high } of await topicEnds(admin, exactTopic(from))) {
      const done = copied.get(partition) ?? 0;
      if (done > high)
        throw new CopyDiffers(`${from} went back: the copy of partition ${partition} has more`);
      await copyPartition({
        ...{ settings, producer, from, to, partition, low, high, transform, signal },
        copied: done,
        progressed: (count) => (records += count),
      });
    }
    return records;
  } catch (error) {
    if (!(error instanceof CopyDiffers)) throw error;
    // A record of a killed command was appended after the end was read, or the log went back:
    // another copy is made. Writers may have to publish until they hold again.
    await unfence(admin, { from, to });
    await admin.deleteTopics({ topics: [to] });
    await setPhase(database, layout, 'preparing');
    const again = `${topic}.${randomUUID().slice(0, 8)}`;
    await database.query(
      `UPDATE log_layout SET change = change || jsonb_build_object('to', $1::text)`,
      [again],
    );
    return records;
  } finally {
    await producer.close(1000);
  }
}

/** From here on the copy is the topic. Its heads and settings are those of the former one. */
async function switchTopic(
  { admin, database }: RewriteServers,
  { phase }: LogLayout,
  { from, to, topic }: { from: string; to: string; topic: Topic },
): Promise<void> {
  const ends = await topicEnds(admin, exactTopic(from));
  const copies = await endsOf(admin, to);
  const differing = ends.find(({ partition, high }) => copies.get(partition) !== high);
  if (differing)
    throw new CommandError(`partition ${differing.partition} of ${to} is not complete`);
  const heads = ends.filter(({ low }) => low > 0);
  if (heads.length > 0)
    await admin.deleteTopicRecords({
      topic: to,
      partitions: heads.map(({ partition, low }) => ({ partition, offset: String(low) })),
    });
  await replaceSettings(admin, to, await unfencedSettings(admin, { from, to }));
  await recordAudit(database, {
    ...{ accountId: null, actor: 'operator', action: 'log.topic_rewritten' },
    details: { topic, from, to },
  });
  // What readers know about records of the former topic may differ in the copy.
  await database.query('DELETE FROM log_evidence WHERE topic = $1', [topic]);
  await database.query(
    `UPDATE log_layout SET phase = 'steady', generation = generation + 1, change = NULL,
       topics = topics || jsonb_build_object($2::text, $3::text),
       former_topics = former_topics || jsonb_build_object($2::text,
         jsonb_build_object('name', $4::text, 'ends', $5::jsonb)),
       changed_at = clock_timestamp()
     WHERE phase = $1`,
    [
      ...[phase, topic, to, from],
      JSON.stringify(Object.fromEntries(ends.map(({ partition, high }) => [partition, high]))),
    ],
  );
}
