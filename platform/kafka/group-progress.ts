import type kafka from 'node-rdkafka';
import { withDeadline } from '../deadline.ts';
import type { PartitionEnds } from './admin.ts';
import type { KafkaSettings } from './connection.ts';
import {
  closeStandalone,
  connectStandalone,
  type StandaloneConsumer,
} from './standalone-consumer.ts';
import { physicalTopic } from './topic-names.ts';

const CONNECT_MS = 3000;
/** One request to a broker, ms. */
const REQUEST_MS = 3000;

/**
 * Reads ends of topics and committed offsets of groups, without joining a group: over librdkafka,
 * for readers in the path of requests. Connections stay open and are opened again after a failure.
 */
export class GroupProgress {
  readonly #settings: KafkaSettings;
  readonly #clientId: string;
  /** A client asks for the offsets of one group only: that of its configuration. */
  readonly #clients = new Map<string, Promise<StandaloneConsumer>>();

  constructor(options: { settings: KafkaSettings; clientId: string }) {
    this.#settings = options.settings;
    this.#clientId = options.clientId;
  }

  /** Low and high watermarks of a topic, by partition. Rejects without a broker. */
  async ends(topic: string): Promise<PartitionEnds[]> {
    return this.#with(this.#clientId, async (client) => {
      const partitions = await partitionsOf(client, topic);
      return Promise.all(partitions.map((partition) => endsOf(client, { topic, partition })));
    });
  }

  /** Committed offset per partition; undefined where the group has never committed. */
  async committed(
    group: string,
    { topic, partitions }: { topic: string; partitions: readonly number[] },
  ): Promise<Map<number, number | undefined>> {
    const asked = partitions.map((partition) => ({ topic: physicalTopic(topic), partition }));
    return this.#with(group, async (client) => {
      const found = await new Promise<{ partition: number; offset?: number }[]>((resolve, reject) =>
        client.committed(asked, REQUEST_MS, (error: kafka.LibrdKafkaError | null, offsets) => {
          if (error) reject(new Error(error.message));
          else resolve(offsets);
        }),
      );
      return new Map(
        found.map(({ partition, offset }) => [
          partition,
          offset === undefined || offset < 0 ? undefined : offset,
        ]),
      );
    });
  }

  async close(): Promise<void> {
    const open = [...this.#clients.values()];
    this.#clients.clear();
    await Promise.all(open.map((one) => one.then(closeStandalone, () => undefined)));
  }

  async #with<T>(group: string, work: (client: StandaloneConsumer) => Promise<T>): Promise<T> {
    const connecting = this.#clients.get(group) ?? this.#connect(group);
    try {
      const client = await connecting;
      return await withDeadline(
        { ms: 2 * REQUEST_MS, waitingFor: `an answer of Kafka about ${group}` },
        work(client),
      );
    } catch (error) {
      if (this.#clients.get(group) === connecting) {
        this.#clients.delete(group);
        void connecting.then(closeStandalone, () => undefined);
      }
      throw error;
    }
  }

  #connect(group: string): Promise<StandaloneConsumer> {
    const connecting = connectStandalone({
      ...{ settings: this.#settings, clientId: this.#clientId, groupId: group },
      ...{ connectMs: CONNECT_MS, prefetchKib: 1, fetchBytes: 1 },
    });
    this.#clients.set(group, connecting);
    return connecting;
  }
}

function partitionsOf(client: StandaloneConsumer, topic: string): Promise<number[]> {
  const name = physicalTopic(topic);
  return new Promise((resolve, reject) => {
    client.getMetadata(
      { topic: name, timeout: REQUEST_MS },
      (error: kafka.LibrdKafkaError | null, metadata: kafka.Metadata | undefined) => {
        const found = metadata?.topics.find((one) => one.name === name)?.partitions ?? [];
        if (error) reject(new Error(error.message));
        else if (found.length === 0) reject(new Error(`the topic ${topic} does not exist`));
        else resolve(found.map(({ id }) => id).toSorted((a, b) => a - b));
      },
    );
  });
}

function endsOf(
  client: StandaloneConsumer,
  { topic, partition }: { topic: string; partition: number },
): Promise<PartitionEnds> {
  return new Promise((resolve, reject) => {
    client.queryWatermarkOffsets(
      physicalTopic(topic),
      partition,
      REQUEST_MS,
      (error: kafka.LibrdKafkaError | null, found: kafka.WatermarkOffsets | undefined) => {
        if (error || !found) reject(new Error(error?.message ?? 'no answer'));
        else resolve({ partition, low: found.lowOffset, high: found.highOffset });
      },
    );
  });
}
