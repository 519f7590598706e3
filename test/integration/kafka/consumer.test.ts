import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { committedOffsets, withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import type { ConsumedMessage, PartitionTask } from '../../../platform/kafka/consumer-types.ts';
import {
  startPartitionConsumer,
  type PartitionConsumer,
} from '../../../platform/kafka/consumer.ts';
import type { LogProducer } from '../../../platform/kafka/producer.ts';
import { createLog } from '../../../platform/log.ts';
import { kafkaSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { eventually, readyStack, sleep } from '../../support/stack.ts';
import { connectTestProducer } from '../../support/producer.ts';
import { openPostgres } from '../../support/stack-clients.ts';

const PARTITIONS = 4;
const log = createLog({ part: 'test', level: 'fatal' });

/** Records that left the topic unread, as the registry counts them. */
async function missedIn(registry: Registry): Promise<number> {
  const metric = await registry.getSingleMetric('ravand_consumer_missed_records_total')?.get();
  return (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0);
}

interface Opened {
  partition: number;
  committed: number | undefined;
  fenced: AbortSignal;
}

describe('the partition consumer', () => {
  let settings: KafkaSettings;
  let producer: LogProducer;
  let topic: string;
  let running: PartitionConsumer[];
  /** Offsets processed, by partition. */
  let processed: number[][];
  beforeAll(async () => {
    settings = parseSettings(kafkaSettings, { KAFKA_BROKERS: readyStack().kafka_brokers });
    producer = await connectTestProducer(settings);
  });
  beforeEach(async () => {
    topic = `consumer-test-${randomUUID()}`;
    running = [];
    processed = Array.from({ length: PARTITIONS }, () => []);
    const topics = [{ topic, numPartitions: PARTITIONS, replicationFactor: 1 }];
    await withKafkaAdmin(settings, (admin) =>
      admin.createTopics({ waitForLeaders: false, topics }),
    );
    // Waiting for leaders, the client fails while the broker does not know the topic yet.
    await eventually({ ms: 30_000, waitingFor: 'the topic' }, () =>
      withKafkaAdmin(settings, (admin) => admin.fetchTopicOffsets(topic)),
    );
    return async () => {
      await Promise.all(running.map((consumer) => consumer.close().catch(() => undefined)));
      await withKafkaAdmin(settings, (admin) => admin.deleteTopics({ topics: [topic] }));
    };
  });
  afterAll(() => producer.close(2000));

  const publish = (count: number, size = 10) =>
    Promise.all(
      Array.from({ length: count }, (_, n) =>
        producer.publish({
          topic,
          partition: n % PARTITIONS,
          key: null,
          value: Buffer.alloc(size),
        }),
      ),
    );

  async function start(
    process: (messages: readonly ConsumedMessage[], opened: Opened) => Promise<number | undefined>,
    more: Partial<Parameters<typeof startPartitionConsumer>[0]> = {},
  ) {
    const released: number[] = [];
    const consumer = await startPartitionConsumer({
      settings,
      log,
      groupId: topic,
      clientId: 'test',
      topic,
      batch: { records: 100, bytes: 1_000_000, linger: 0 },
      crash(error) {
        throw error;
      },
      assigned: (partition, committed, fenced) =>
        Promise.resolve({
          from: undefined,
          process: (messages) => process(messages, { partition, committed, fenced }),
          release: () => Promise.resolve(void released.push(partition)),
        } satisfies PartitionTask),
      ...more,
    });
    running.push(consumer);
    return { consumer, released };
  }
  const keep = (messages: readonly ConsumedMessage[]): Promise<number | undefined> => {
    for (const { partition, offset } of messages) processed[partition]?.push(offset);
    return Promise.resolve((messages.at(-1)?.offset ?? 0) + 1);
  };
  const until = (waitingFor: string, done: () => boolean | Promise<boolean>) =>
    eventually({ ms: 60_000, every: 20, waitingFor }, async () =>
      (await done()) ? true : undefined,
    );
  const count = () => processed.reduce((sum, offsets) => sum + offsets.length, 0);
  const upTo = (length: number) => Array.from({ length }, (_, offset) => offset);
  const committed = () =>
    withKafkaAdmin(settings, (admin) => committedOffsets(admin, topic, topic));

  it('processes every record once and in order across a rebalance when batches end in time', async () => {
    await publish(4000);
    await start(keep);
    await until('the first half', () => count() >= 4000);
    const second = await start(keep);
    const publishing = publish(4000);
    await until('partitions at the second', () => second.consumer.partitions().length === 2);
    await publishing;
    await until('the second half', () => count() >= 8000);
    expect(processed).toEqual(upTo(PARTITIONS).map(() => upTo(2000)));
    await running[0]?.close();
    await publish(400);
    await until('the rest', () => count() >= 8400);
    expect(processed).toEqual(upTo(PARTITIONS).map(() => upTo(2100)));
    await second.consumer.close();
    expect([...(await committed()).values()]).toEqual(upTo(PARTITIONS).map(() => 2100));
    expect(second.released.toSorted()).toEqual([0, 1, 2, 3]);
  });

  it('fences a batch that does not end: its late result is not committed and the next owner re-reads it', async () => {
    await publish(40);
    let late: Opened | undefined;
    let release: () => void = () => undefined;
    const stuck = new Promise<void>((resolve) => (release = resolve));
    const first = await start(
      async (messages, opened) => {
        if (opened.partition !== 0) return keep(messages);
        late = opened;
        await stuck;
        return 10;
      },
      { drain: 500 },
    );
    await until('a batch that hangs', () => late !== undefined && count() >= 30);
    await Promise.all([first.consumer.close(), start(keep)]);
    expect(late?.fenced.aborted).toBe(true);
    release();
    await until('the records of partition 0', () => processed[0]?.length === 10);
    expect(processed[0]).toEqual(upTo(10));
  });

  it('reports at its start what left the topic unread, once, although nothing arrives', async () => {
    await publish(40);
    const first = await start(keep);
    await until('everything', () => count() >= 40);
    await first.consumer.close();
    await publish(40);
    await withKafkaAdmin(settings, async (admin) => {
      const ends = await admin.fetchTopicOffsets(topic);
      const partitions = ends.map(({ partition, high }) => ({ partition, offset: high }));
      expect(partitions.map(({ offset }) => offset)).toEqual(['20', '20', '20', '20']);
      await admin.deleteTopicRecords({ topic, partitions });
    });
    const startAgain = async (more: Parameters<typeof start>[1] = {}) => {
      const registry = new Registry();
      const { consumer } = await start(keep, { registry, ...more });
      await until('its partitions', () => consumer.partitions().length === PARTITIONS);
      return { consumer, missed: () => missedIn(registry) };
    };
    const second = await startAgain();
    await until('the report', async () => (await second.missed()) === 40);
    await until('commits of the new start', async () =>
      [...(await committed()).values()].every((offset) => offset === 20),
    );
    await second.consumer.close();
    processed = processed.map(() => []);
    const third = await startAgain();
    await publish(4);
    await until('the next records', () => count() >= 4);
    expect(await third.missed()).toBe(0);
    await third.consumer.close();
    // A task that reads again what it has processed misses nothing.
    const fourth = await startAgain({
      assigned: (_, offset) =>
        Promise.resolve({
          ...{ from: 3, processed: offset, process: keep, release: () => Promise.resolve() },
        }),
    });
    await publish(4);
    await until('the next records', () => count() >= 8);
    expect(await fourth.missed()).toBe(0);
  });

  it('pauses fetching while a batch outlasts its buffer, and loses no message', async () => {
    await publish(2000, 20_000);
    let waiting = true;
    const { consumer: lagging } = await start(
      async (messages) => {
        while (waiting) await new Promise((resolve) => setTimeout(resolve, 20));
        return keep(messages);
      },
      { batch: { records: 100, bytes: 1_000_000, linger: 0 } },
    );
    await until('lag', () => lagging.lag().reduce((sum, { records }) => sum + records, 0) > 1000);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(lagging.lag().every(({ age }) => age > 0)).toBe(true);
    waiting = false;
    await until('everything', () => count() >= 2000);
    expect(processed).toEqual(upTo(PARTITIONS).map(() => upTo(500)));
  });

  it('fetches a partition again that was paused when it was revoked, by the same process', async () => {
    await publish(4000);
    let isHeld = true;
    const first = await start(
      async (messages, { fenced }) => {
        while (isHeld && !fenced.aborted) await sleep(20);
        return fenced.aborted ? undefined : keep(messages);
      },
      { batch: { records: 10, bytes: 1_000_000, linger: 0 }, drain: 100 },
    );
    // Every buffer is full, so every partition is paused.
    await until('its partitions', () => first.consumer.partitions().length === PARTITIONS);
    await sleep(2000);
    const second = await start(keep);
    await until('partitions at the second', () => second.consumer.partitions().length === 2);
    isHeld = false;
    await second.consumer.close();
    await until('its partitions again', () => first.consumer.partitions().length === PARTITIONS);
    await publish(400);
    const offsets = () => processed.map((found) => new Set(found).size);
    await until('all records', () => offsets().every((found) => found === 1100));
  });

  it('joins again when its membership has ended, and continues where it was', async () => {
    await publish(400);
    const named = { instanceId: 'named' };
    const { consumer, released } = await start(keep, named);
    await until('the first records', () => count() >= 400);
    // A member of the same name takes its place, as its own second attempt to join does after a
    // broker that stalled.
    const other = await start(() => Promise.resolve(undefined), named);
    await until('the end of its membership', () => released.length === PARTITIONS);
    await other.consumer.close();
    await until('its partitions again', () => consumer.partitions().length === PARTITIONS);
    await publish(400);
    await until('all records', () => processed.every((found) => new Set(found).size === 200));
  });

  it('crashes when its membership ends again and again: another process has its name', async () => {
    const crashes: unknown[] = [];
    const crash = (error: unknown) => void crashes.push(error);
    const named = { instanceId: 'named', crash };
    await start(keep, named);
    await start(keep, named);
    await until('a crash', () => crashes.length > 0);
    expect(String(crashes[0])).toContain('KAFKA_INSTANCE_ID');
  });

  it('crashes on an unexpected error, and the offset does not advance', async () => {
    await publish(4);
    const crashes: unknown[] = [];
    await start(() => Promise.reject(new Error('unexpected')), {
      crash: (error) => crashes.push(error),
    });
    await until('a crash of each partition', () => crashes.length >= PARTITIONS);
    expect(crashes[0]).toMatchObject({ message: 'unexpected' });
    expect([...(await committed()).values()].every((offset) => offset === undefined)).toBe(true);
  });

  it('starts at the offset of the task, before or after the committed offset', async () => {
    await publish(40);
    const first = await start(keep);
    await until('everything', () => count() >= 40);
    await first.consumer.close();
    processed = processed.map(() => []);
    await start(keep, {
      assigned: (partition, offset) => {
        expect(offset).toBe(10);
        return Promise.resolve({
          from: partition < 2 ? 4 : 10,
          process: keep,
          release: () => Promise.resolve(),
        });
      },
    });
    await publish(4);
    await until('the records from there', () => count() >= 16);
    expect(processed.map(([offset]) => offset)).toEqual([4, 4, 10, 10]);
  });

  describe('that stores evidence before effects', () => {
    const database = openPostgres();
    const stored = async () => {
      const { rows } = await database.query<{ partition: number; next_offset: string }>(
        'SELECT partition, next_offset FROM log_evidence WHERE reader = $1 ORDER BY partition',
        [topic],
      );
      return new Map(rows.map((row) => [row.partition, Number(row.next_offset)]));
    };
    const evidence = { database, before: 'effects' as const };

    it('has stored it when the task may have an effect', async () => {
      await publish(40);
      const known: (number | undefined)[][] = [];
      await start(keep, {
        evidence,
        assigned: () => {
          let evidenceStored = () => Promise.resolve();
          return Promise.resolve({
            from: undefined,
            beforeEffects: (given) => (evidenceStored = given),
            async process(messages: readonly ConsumedMessage[]) {
              const { partition = 0, offset = 0 } = messages.at(-1) ?? {};
              await evidenceStored();
              known.push([(await stored()).get(partition), offset + 1]);
              return keep(messages);
            },
            release: () => Promise.resolve(),
          } satisfies PartitionTask);
        },
      });
      await until('everything', () => count() >= 40);
      for (const [next, wanted] of known) expect(next).toBeGreaterThanOrEqual(wanted ?? 0);
    });

    it('stores it before it commits batches without effects', async () => {
      await publish(40);
      const assigned = () =>
        Promise.resolve({
          ...{ from: undefined, process: keep, release: () => Promise.resolve() },
          beforeEffects: () => undefined,
        } satisfies PartitionTask);
      const { consumer } = await start(keep, { evidence, assigned });
      await until('everything', () => count() >= 40);
      await consumer.close();
      const offsets = new Map(upTo(PARTITIONS).map((partition) => [partition, 10]));
      expect(await committed()).toEqual(offsets);
      expect(await stored()).toEqual(offsets);
    });

    it('crashes when the task does not say before which effects', async () => {
      await publish(4);
      const crashes: unknown[] = [];
      await start(keep, { evidence, crash: (error) => crashes.push(error) });
      await until('a crash', () => crashes.length > 0);
      expect(String(crashes[0])).toContain('before which effects');
      expect(count()).toBe(0);
    });
  });
});
