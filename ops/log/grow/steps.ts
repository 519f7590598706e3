import { randomUUID } from 'node:crypto';
import type { Admin } from 'kafkajs';
import { CommandError } from '../../../cli/command.ts';
import { encodeMarker, MARKER_KEY, readMarker } from '../../../events/raw/layout-marker.ts';
import { recordAudit } from '../../../platform/audit.ts';
import { topicEnds } from '../../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import { connectProducer } from '../../../platform/kafka/producer.ts';
import { RangeReader } from '../../../platform/kafka/read-range.ts';
import { physicalTopic } from '../../../platform/kafka/topic-names.ts';
import type { Log } from '../../../platform/log.ts';
import type { LogLayout } from '../../../platform/log/layout.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import type { GrowthStep, GrowthView } from './plan.ts';

export interface GrowthServers {
  admin: Admin;
  database: Database;
  settings: KafkaSettings;
  log: Log;
}

const ACTOR = { accountId: null, actor: 'operator' } as const;

/** Takes one step. Each is one write, conditional on the phase, or may be repeated. */
export async function takeStep(
  servers: GrowthServers,
  { step, view }: { step: GrowthStep; view: GrowthView },
): Promise<void> {
  const { admin, database } = servers;
  const { layout, target } = view;
  switch (step.step) {
    case 'begin':
      return change(database, layout, {
        set: `phase = 'preparing', next_partitions = $2, change = $3`,
        values: [
          target,
          JSON.stringify({ id: randomUUID(), kind: 'grow', from: layout.partitions }),
        ],
      });
    case 'create':
      for (const topic of step.topics)
        await admin.createPartitions({
          timeout: 20_000,
          topicPartitions: [{ topic: physicalTopic(topic), count: target }],
        });
      return;
    case 'hold':
      return change(database, layout, {
        set: `phase = 'holding', created = greatest(created, $2)`,
        values: [target],
      });
    case 'switch':
      return beginSwitch(servers, view);
    case 'mark':
      return mark(servers, view, step.partitions);
    case 'drain':
      return change(database, layout, { set: `phase = 'draining'`, values: [] });
    case 'finish':
      await recordAudit(database, {
        ...ACTOR,
        action: 'log.grown',
        details: { from: layout.partitions, to: target, epoch: layout.change?.['epoch'] },
      });
      return change(database, layout, {
        set: `phase = 'steady', generation = generation + 1, partitions = $2, next_partitions = NULL,
          change = NULL`,
        values: [target],
      });
    case 'wait':
    case 'done':
      return;
  }
}

/** Goes back: writers release what they hold by the former number of partitions. */
export async function cancelGrowth(database: Database, layout: LogLayout): Promise<void> {
  await recordAudit(database, {
    ...ACTOR,
    action: 'log.growth_cancelled',
    details: { partitions: layout.partitions, next: layout.nextPartitions },
  });
  await change(database, layout, {
    set: `phase = 'steady', created = greatest(created, coalesce(next_partitions, created)),
      next_partitions = NULL, change = NULL`,
    values: [],
  });
}

/** Changes the row if it is still in the phase that was read; another command may be faster. */
async function change(
  database: Database,
  { phase }: LogLayout,
  { set, values }: { set: string; values: readonly unknown[] },
): Promise<void> {
  await database.query(
    `UPDATE log_layout SET ${set}, changed_at = clock_timestamp() WHERE phase = $1`,
    [phase, ...values],
  );
}

/**
 * Records the epoch that begins, and the ends below which no mark can be. One epoch for all
 * partitions: positions of a person that moves to another partition rise.
 */
async function beginSwitch({ admin, database }: GrowthServers, view: GrowthView): Promise<void> {
  const { layout, target } = view;
  const ends = Object.fromEntries(
    (await topicEnds(admin, TOPIC.raw)).map(({ partition, high }) => [partition, high]),
  );
  const { rows } = await database.query<{ epoch: number }>(
    'SELECT coalesce(max(epoch), 0) + 1 AS epoch FROM log_epochs WHERE topic = $1',
    [TOPIC.raw],
  );
  await change(database, layout, {
    set: `phase = 'switching',
      change = change || jsonb_build_object('ends', $2::jsonb, 'epoch', $4::integer),
      history = history || jsonb_build_array(jsonb_build_object(
        'generation', generation + 1, 'partitions', $3::integer, 'epoch', $4::integer))`,
    values: [JSON.stringify(ends), target, rows[0]?.epoch ?? 1],
  });
}

const PUBLISH_MS = 20_000;
const SEARCH = { records: 5_000_000, ms: 120_000 };

/** Writes the marks that are missing in the log, and the epochs that begin with them. */
async function mark(
  { admin, database, settings, log }: GrowthServers,
  { layout, target }: GrowthView,
  partitions: readonly number[],
): Promise<void> {
  const {
    id,
    epoch,
    ends: before,
  } = layout.change as {
    id: string;
    epoch: number;
    ends: Record<string, number>;
  };
  const reader = new RangeReader({ settings, clientId: 'ravand-log', profile: 'interactive' });
  const producer = await connectProducer({
    settings,
    log,
    clientId: 'ravand-log',
    timeout: PUBLISH_MS,
    linger: 0,
    pollInterval: 5,
    maxQueued: { records: 1000, bytes: 16 * 1024 * 1024 },
  });
  try {
    if ((await producer.partitions(TOPIC.raw, PUBLISH_MS)) < target)
      throw new CommandError(
        `Kafka does not have ${target} partitions of ${TOPIC.raw} yet: repeat`,
      );
    const ends = new Map(
      (await topicEnds(admin, TOPIC.raw)).map(({ partition, high }) => [partition, high]),
    );
    for (const partition of partitions) {
      const range = { partition, from: before[partition] ?? 0, to: ends.get(partition) ?? 0 };
      const found = await findMark(reader, { ...range, id });
      const offset =
        found ??
        (await producer.publish({
          topic: TOPIC.raw,
          partition,
          key: MARKER_KEY,
          value: encodeMarker({ change: id, epoch, partitions: target }, Date.now()),
        }));
      await database.query(
        `INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (topic, partition, epoch) DO NOTHING`,
        [TOPIC.raw, partition, epoch, offset, `growth to ${target} partitions`],
      );
    }
  } finally {
    await Promise.allSettled([producer.close(1000), reader.close()]);
  }
}

/** The offset of the mark that a killed command wrote; undefined: it wrote none. */
async function findMark(
  reader: RangeReader,
  { partition, from, to, id }: { partition: number; from: number; to: number; id: string },
): Promise<number | undefined> {
  let found: number | undefined;
  const read = await reader.search(
    { topic: TOPIC.raw, partition, from, to, limits: SEARCH },
    (record) => {
      if (readMarker(record)?.change !== id) return undefined;
      found = record.offset;
      return 'found';
    },
  );
  if (read.ended === 'limit')
    throw new CommandError(
      `${TOPIC.raw} ${partition} received too many records since offset ${from}: run the same command again`,
    );
  return found;
}
