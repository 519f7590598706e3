import { createServer, type AddressInfo, type Socket } from 'node:net';
import { batchOf, PartitionLog, type Batch } from './partition-log.ts';
import { Reply, Request } from './protocol.ts';

/** What the broker answers to a batch: its own decision (undefined), or this error code. */
export type Refusal = (batch: Batch, nth: number, topic: string) => number | undefined;

interface Arrived extends Batch {
  topic: string;
  partition: number;
}

export interface FakeBroker {
  /** host:port of the only broker. */
  address: string;
  /** Values that were appended, in the order of the log; of the first topic by default. */
  values: (partition: number, topic?: string) => string[];
  /** Batches as they arrived, those that were refused too. */
  arrived: readonly Arrived[];
  /** As when every replica has expired the state of the producers. */
  forgetProducers(): void;
  close(): Promise<void>;
}

const API = { produce: 0, fetch: 1, metadata: 3, apiVersions: 18, initProducerId: 22 };
/** The versions that the broker has, by API; librdkafka asks for Fetch before it is idempotent. */
const VERSIONS = [
  [API.produce, 3, 3],
  [API.fetch, 4, 4],
  [API.metadata, 1, 1],
  [API.apiVersions, 0, 0],
  [API.initProducerId, 0, 0],
] as const;
const UNSUPPORTED_VERSION = 35;
/** A refused batch is answered when the next one has arrived, or after this time, ms. */
const REFUSAL_WAIT_MS = 300;

/**
 * A broker whose leaders change when the test says so: `refuse` sees each batch with its number
 * among those of its partition. What is not refused is appended by Kafka's rules of
 * idempotent producers (partition-log.ts). Real brokers refuse so for milliseconds only.
 */
export async function startFakeBroker(of: {
  topics: readonly [string, ...string[]];
  /** Of each topic. */
  partitions: number;
  refuse: Refusal;
}): Promise<FakeBroker> {
  const logs = new Map(
    of.topics.map((topic) => [
      topic,
      Array.from({ length: of.partitions }, () => new PartitionLog()),
    ]),
  );
  const arrived: Arrived[] = [];
  const sockets = new Set<Socket>();
  let nextProducerId = 1n;
  const onArrival: (() => void)[] = [];

  const nextArrival = () =>
    new Promise<void>((resolve) => {
      onArrival.push(resolve);
      setTimeout(resolve, REFUSAL_WAIT_MS);
    });

  /** The error code and the base offset of a batch. */
  const decide = (
    { topic, partition }: { topic: string; partition: number },
    batch: Batch,
  ): { error: number; offset: bigint } => {
    const nth = arrived.filter((one) => one.topic === topic && one.partition === partition).length;
    arrived.push({ ...batch, topic, partition });
    for (const resolve of onArrival.splice(0)) resolve();
    const refusal = of.refuse(batch, nth, topic);
    if (refusal !== undefined) return { error: refusal, offset: -1n };
    return (
      logs.get(topic)?.[partition]?.append(batch) ?? { error: UNSUPPORTED_VERSION, offset: -1n }
    );
  };

  const produce = async (request: Request): Promise<Reply> => {
    request.string();
    request.int16();
    request.int32();
    const topics = request.array(() => ({
      name: request.string(),
      partitions: request.array(() => ({ index: request.int32(), records: request.bytes() })),
    }));
    const answers = topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ index, records }) => ({
        index,
        ...decide({ topic: name, partition: index }, batchOf(records)),
      })),
    }));
    if (answers.some(({ partitions }) => partitions.some(({ error }) => error !== 0)))
      await nextArrival();
    return new Reply()
      .array(answers, (reply, { name, partitions }) =>
        reply
          .string(name)
          .array(partitions, (inner, { index, error, offset }) =>
            inner.int32(index).int16(error).int64(offset).int64(-1n),
          ),
      )
      .int32(0);
  };

  const metadata = (port: number) =>
    new Reply()
      .array([1], (reply, id) => reply.int32(id).string('127.0.0.1').int32(port).string(null))
      .int32(1)
      .array([...logs], (reply, [name, partitions]) =>
        reply
          .int16(0)
          .string(name)
          .int8(0)
          .array([...partitions.keys()], (inner, index) =>
            inner
              .int16(0)
              .int32(index)
              .int32(1)
              .array([1], (replicas, id) => replicas.int32(id))
              .array([1], (isr, id) => isr.int32(id)),
          ),
      );

  const apiVersions = (error: number) =>
    new Reply()
      .int16(error)
      .array([...VERSIONS], (reply, [key, min, max]) => reply.int16(key).int16(min).int16(max));

  const answer = async (request: Request, port: number): Promise<Reply> => {
    switch (request.api) {
      case API.apiVersions:
        return apiVersions(request.version > 0 ? UNSUPPORTED_VERSION : 0);
      case API.metadata:
        return metadata(port);
      case API.initProducerId:
        return new Reply().int32(0).int16(0).int64(nextProducerId++).int16(0);
      case API.produce:
        return produce(request);
      default:
        throw new Error(`the fake broker has no API ${request.api}`);
    }
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    let buffered = Buffer.alloc(0);
    // Answers are in the order of the requests.
    let answered = Promise.resolve();
    socket.on('data', (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      while (buffered.length >= 4 && buffered.length >= 4 + buffered.readInt32BE(0)) {
        const end = 4 + buffered.readInt32BE(0);
        const request = new Request(buffered.subarray(4, end));
        buffered = buffered.subarray(end);
        const reply = answer(request, (server.address() as AddressInfo).port);
        answered = answered.then(async () => {
          socket.write((await reply).framed(request.correlation));
        });
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    values: (partition, topic = of.topics[0]) => logs.get(topic)?.[partition]?.values ?? [],
    arrived,
    forgetProducers: () => [...logs.values()].flat().forEach((log) => log.forgetProducers()),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
