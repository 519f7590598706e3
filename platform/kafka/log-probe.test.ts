import { describe, expect, it } from 'vitest';
import type { KafkaSettings } from './connection.ts';
import type { ConsumedMessage } from './consumer-types.ts';
import { LogProbe } from './log-probe.ts';
import type { StandaloneConsumer } from './standalone-consumer.ts';

interface Position {
  topic: string;
  partition: number;
  offset: number;
}

/** A broker with ten records in each partition, except those that `lacks` names. */
function consumerOf({ lacks = () => false }: { lacks?: (at: Position) => boolean } = {}) {
  const assigned: Position[][] = [];
  let queue: Partial<ConsumedMessage>[] = [];
  const consumer = {
    assign(positions: Position[]) {
      assigned.push(positions);
      queue = positions.flatMap(({ offset, ...of }) =>
        Array.from({ length: Math.max(0, 10 - offset) }, (_, at) => ({
          ...{ ...of, offset: offset + at, timestamp: 5, value: Buffer.from(`${offset + at}`) },
        })).filter((one) => !lacks(one)),
      );
    },
    pause(paused: Position[]) {
      queue = queue.filter((one) => !paused.some(({ partition }) => partition === one.partition));
    },
    unassign() {
      queue = [];
    },
    setDefaultConsumeTimeout: () => undefined,
    consume(most: number, done: (error: null, found: Partial<ConsumedMessage>[]) => void) {
      setImmediate(() => done(null, queue.splice(0, most)));
    },
    isConnected: () => true,
    disconnect: (done: () => void) => done(),
  };
  return { assigned, consumer: consumer as unknown as StandaloneConsumer };
}

const TOPIC = 'events.raw';
const partitions = Array.from({ length: 400 }, (_, partition) => partition);
const probeOf = (consumer: StandaloneConsumer) =>
  new LogProbe({} as KafkaSettings, () => Promise.resolve(consumer));

describe('records that are asked for at once', () => {
  it('are read together, each question answered with the record at its offset', async () => {
    const { assigned, consumer } = consumerOf();
    const probe = probeOf(consumer);
    const found = await Promise.all(
      partitions.map((partition) => probe.recordAt({ topic: TOPIC, partition }, partition % 10)),
    );
    expect(found.map((one) => [one?.partition, one?.offset])).toEqual(
      partitions.map((partition) => [partition, partition % 10]),
    );
    // The first is asked for alone: nobody has asked for others before its turn.
    expect(assigned.length).toBeLessThanOrEqual(1 + Math.ceil(partitions.length / 50));
    await probe.close();
  });

  it('of one partition are read one after the other', async () => {
    const { assigned, consumer } = consumerOf();
    const probe = probeOf(consumer);
    const of = { topic: TOPIC, partition: 3 };
    const found = await Promise.all([4, 2, 9].map((offset) => probe.recordAt(of, offset)));
    expect(found.map((one) => one?.offset)).toEqual([4, 2, 9]);
    expect(assigned.every((one) => one.length === 1)).toBe(true);
    await probe.close();
  });

  it('are undefined where the log has a later record in their place', async () => {
    const { consumer } = consumerOf({ lacks: ({ partition, offset }) => partition === offset });
    const probe = probeOf(consumer);
    const asked = [1, 2, 3].map((partition) => probe.recordAt({ topic: TOPIC, partition }, 2));
    const found = await Promise.all(asked);
    expect(found.map((one) => one?.offset)).toEqual([2, undefined, 2]);
    await probe.close();
  });

  it('fail with the connection, and those asked for later are read', async () => {
    const { consumer } = consumerOf();
    let attempts = 0;
    const probe = new LogProbe({} as KafkaSettings, () =>
      attempts++ === 0 ? Promise.reject(new Error('no broker')) : Promise.resolve(consumer),
    );
    const asked = [1, 2].map((partition) => probe.recordAt({ topic: TOPIC, partition }, 0));
    const [first, second] = await Promise.allSettled(asked);
    expect([first?.status, second?.status]).toEqual(['rejected', 'fulfilled']);
    await probe.close();
  });
});
