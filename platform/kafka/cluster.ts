import kafkajs from 'kafkajs';
import { kafkajsConnection, type KafkaSettings } from './connection.ts';

/** What kafkajs keeps private: requests to a group's coordinator that its admin client lacks. */
export interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  findGroupCoordinator(of: { groupId: string }): Promise<Coordinator>;
}

interface Coordinator {
  versions: Record<number, unknown>;
  connectionPool: { send(request: object): Promise<unknown> };
  /** Rejects when the broker refuses one of the offsets. */
  offsetCommit(request: {
    groupId: string;
    groupGenerationId: number;
    memberId: string;
    topics: readonly {
      topic: string;
      partitions: readonly { partition: number; offset: string }[];
    }[];
  }): Promise<unknown>;
}

/** Runs `work` with connections of its own, and closes them afterwards. */
export async function withCluster<T>(
  settings: KafkaSettings,
  work: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const client = new kafkajs.Kafka(kafkajsConnection(settings, 'ravand-admin'));
  const create = Object.getOwnPropertySymbols(client).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  if (create === undefined) throw new Error('this version of kafkajs creates clusters elsewhere');
  const cluster = (client as unknown as Record<symbol, (options: object) => Cluster>)[create]?.(
    {},
  ) as Cluster;
  await cluster.connect();
  try {
    return await work(cluster);
  } finally {
    await cluster.disconnect();
  }
}
