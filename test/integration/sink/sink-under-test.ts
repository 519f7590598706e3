import type { ClickHouseClient } from '@clickhouse/client';
import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import type { LogProducer } from '../../../platform/kafka/producer.ts';
import { createLog } from '../../../platform/log.ts';
import { migratePostgres } from '../../../platform/postgres/migrate.ts';
import { connectPostgres } from '../../../platform/postgres/pool.ts';
import { clickhouseSettings, kafkaSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { ddlFolders } from '../../../projections/ddl-folders.ts';
import { eventRowCodec } from '../../../schemas/codec.ts';
import type { EventRow } from '../../../schemas/records.ts';
import { joinRowBatch } from '../../../schemas/row-batch.ts';
import { NEWEST_ROW_VERSION } from '../../../schemas/row-versions.ts';
import { eventually, rows } from '../../support/stack.ts';
import { startOwnServers, type OwnServers } from './own-servers.ts';
import { connectTestProducer } from '../../support/producer.ts';

const checkout = join(import.meta.dirname, '../../..');
const log = createLog({ part: 'test', level: 'error' });

export const EMPTY_ROW = eventRowCodec.type.fromBuffer(
  Buffer.alloc(4096),
  undefined,
  true,
) as EventRow;

/**
 * A topic, a consumer group and a database of their own, and sinks on them that can be killed and
 * stopped.
 */
export class SinkUnderTest {
  readonly topic = `sink-test-${randomBytes(4).toString('hex')}`;
  readonly servers: OwnServers;
  readonly clickhouse: ClickHouseClient;
  readonly #env: NodeJS.ProcessEnv;
  readonly #producer: LogProducer;
  readonly #sinks = new Set<ChildProcess>();

  private constructor(parts: {
    servers: OwnServers;
    clickhouse: ClickHouseClient;
    env: NodeJS.ProcessEnv;
    producer: LogProducer;
  }) {
    this.servers = parts.servers;
    this.clickhouse = parts.clickhouse;
    this.#env = parts.env;
    this.#producer = parts.producer;
  }

  static async open(
    kafkaBrokers: string,
    starting: Promise<OwnServers> = startOwnServers(),
  ): Promise<SinkUnderTest> {
    const servers = await starting;
    const env = {
      ...process.env,
      KAFKA_BROKERS: kafkaBrokers,
      CLICKHOUSE_URL: servers.warehouse.url,
      CLICKHOUSE_SHARDS: servers.warehouse.cluster,
      DATABASE_URL: servers.postgres.url,
      CLICKHOUSE_DATABASE: 'ravand',
    };
    const settings = parseSettings({ ...kafkaSettings, ...clickhouseSettings }, env);
    await migrateClickhouse(settings, ddlFolders());
    const pool = connectPostgres({ url: servers.postgres.url, log, name: 'test' });
    await migratePostgres(pool, join(checkout, 'deploy/migrations/postgres'));
    await pool.end();
    const producer = await connectTestProducer(settings);
    const test = new SinkUnderTest({
      servers,
      clickhouse: connectClickhouse({ settings, name: 'test' }),
      env,
      producer,
    });
    const topics = [
      { topic: test.topic, numPartitions: 2, replicationFactor: 1 },
      { topic: test.deadTopic, numPartitions: 1, replicationFactor: 1 },
    ];
    await withKafkaAdmin(settings, (admin) => admin.createTopics({ waitForLeaders: true, topics }));
    return test;
  }

  get deadTopic(): string {
    return `${this.topic}-dead`;
  }

  get kafka() {
    return parseSettings(kafkaSettings, this.#env);
  }

  /**
   * Starts a sink; a named one has its partitions back at once when it is started again under the
   * same name.
   */
  start(instance = ''): ChildProcess {
    const child = fork(
      join(import.meta.dirname, 'sink-process.ts'),
      [this.topic, this.topic, this.deadTopic],
      {
        env: { ...this.#env, KAFKA_INSTANCE_ID: instance, SINK_INTERVAL: '50ms' },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      },
    );
    this.#sinks.add(child);
    child.once('exit', () => this.#sinks.delete(child));
    return child;
  }

  /** Appends a run as the normaliser does; answers its offset. */
  publish(partition: number, places: readonly Partial<EventRow>[]): Promise<number> {
    const all = places.map((row) => ({
      ...EMPTY_ROW,
      account_id: 1,
      event: 'acted',
      timestamp: Date.now(),
      ...row,
      _partition: partition,
    }));
    const [first, last] = [all[0], all.at(-1)];
    if (!first || !last) throw new Error('a run has rows');
    const head = {
      epoch: 0,
      partition,
      first_offset: first._offset,
      first_index: first._index,
      last_offset: last._offset,
      last_index: last._index,
      appended_at: Date.now(),
    };
    const datums = Buffer.concat(all.map((row) => eventRowCodec.type.toBuffer(row)));
    const batch = { version: NEWEST_ROW_VERSION, head, count: all.length, rows: datums };
    return this.append(partition, joinRowBatch(batch));
  }

  append(partition: number, value: Buffer): Promise<number> {
    return this.#producer.publish({ topic: this.topic, partition, key: null, value });
  }

  /** Rows and different places that are stored. */
  async counts(): Promise<{ stored: number; places: number }> {
    const [counts] = await rows<{ stored: number; places: number }>(
      this.clickhouse,
      'SELECT count() AS stored, uniqExact(_partition, _epoch, _offset, _index) AS places FROM events',
    );
    return counts ?? { stored: 0, places: 0 };
  }

  /**
   * Waits until so many places are stored, then a little longer, so that a double that comes late
   * is seen too.
   */
  async untilStored(places: number, ms = 60_000): Promise<{ stored: number; places: number }> {
    await eventually({ ms, waitingFor: `${places} places to be stored` }, async () =>
      (await this.counts()).places >= places ? true : undefined,
    );
    await new Promise((resolve) => setTimeout(resolve, 2000));
    return this.counts();
  }

  async close(): Promise<void> {
    for (const sink of this.#sinks) sink.kill('SIGKILL');
    await this.#producer.close(2000);
    await this.clickhouse.close();
    await withKafkaAdmin(this.kafka, (admin) =>
      admin.deleteTopics({ topics: [this.topic, this.deadTopic] }),
    );
    await this.servers.close();
  }
}
