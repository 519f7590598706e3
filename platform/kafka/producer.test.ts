import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../log.ts';
import { kafkaSettings } from '../settings-common.ts';
import { parseSettings } from '../settings.ts';
import {
  connectProducer,
  type LogProducer,
  type ProducerOptions,
  type PublishFailed,
} from './producer.ts';
import { startFakeBroker, type FakeBroker, type Refusal } from './testing/fake-broker.ts';
import { readTopicNamesFrom, topicNamesKnown } from './topic-names.ts';

const TOPIC = 'events.raw';
const REPLACEMENT = 'events.raw.2';
/** NOT_LEADER_OR_FOLLOWER: another broker leads the partition, or this one does not know yet. */
const NOT_LEADER = 6;

const POLICY_VIOLATION = 44;
const MESSAGE_TOO_LARGE = 10;
const QUEUE_FULL = -184;
const QUEUED = 1000;
const MIB = 1 << 20;

let broker: FakeBroker;
let producer: LogProducer;

afterEach(async () => {
  vi.restoreAllMocks();
  readTopicNamesFrom(() => Promise.resolve({ topics: {}, former: {} }));
  await topicNamesKnown();
  // One test has closed it.
  await producer.close(0).catch(() => undefined);
  await broker.close();
});

async function connect(refuse: Refusal): Promise<void> {
  broker = await startFakeBroker({ topics: [TOPIC, REPLACEMENT], partitions: 2, refuse });
  producer = await connectProducer(optionsFor(broker.address));
}

function optionsFor(address: string): ProducerOptions {
  return {
    settings: parseSettings(kafkaSettings, { KAFKA_BROKERS: address }),
    log: createLog({ part: 'test', level: 'error' }),
    clientId: 'test',
    timeout: 20_000,
    linger: 0,
    pollInterval: 1,
    // Every record is a batch, and a request, of its own.
    batchBytes: 1,
    maxQueued: { records: QUEUED, bytes: 32 * MIB },
  };
}

interface Report {
  value: string;
  error: PublishFailed | undefined;
  offset: number;
}

/** Sends the values at once, and resolves with the reports in the order in which they came. */
function sendAll(values: readonly string[], partition = 0): Promise<Report[]> {
  const found: Report[] = [];
  return new Promise((resolve) => {
    for (const value of values)
      producer.send({ topic: TOPIC, partition, key: null, value: Buffer.from(value) }, (...of) => {
        found.push({ value, error: of[0], offset: of[1] });
        if (found.length === values.length) resolve(found);
      });
  });
}

function arrivedOf(of: number) {
  return broker.arrived.filter(({ partition }) => partition === of);
}

function summary(reports: readonly Report[]) {
  return reports.map(({ value, error, offset }) => [value, error?.message, offset]);
}

describe('a broker that appends whatever comes first of a producer that it does not know', () => {
  it('a producer whose first request is refused while the leader changes loses no record', async () => {
    await connect((_, nth) => (nth === 0 ? NOT_LEADER : undefined));

    const reports = await sendAll(['a', 'b', 'c']);

    expect(summary(reports)).toEqual([
      ['a', undefined, 0],
      ['b', undefined, 1],
      ['c', undefined, 2],
    ]);
    expect(broker.values(0)).toEqual(['a', 'b', 'c']);
  });

  it('the first record of a partition is alone in flight, also when another partition is known', async () => {
    await connect(() => undefined);
    await sendAll(['known']);
    let arrivedBefore = 0;
    const [first, ...later] = ['x', 'y', 'z'].map(
      (value) =>
        new Promise<void>((resolve) => {
          producer.send(
            { topic: TOPIC, partition: 1, key: null, value: Buffer.from(value) },
            (_, offset) => {
              if (offset === 0) arrivedBefore = arrivedOf(1).length;
              resolve();
            },
          );
        }),
    );
    await first;
    await Promise.all(later);

    expect(arrivedBefore).toBe(1);
    expect(arrivedOf(1).map(({ values }) => values)).toEqual([['x'], ['y'], ['z']]);
    expect(broker.values(1)).toEqual(['x', 'y', 'z']);
  });

  it('a topic that replaces another one has first records of its own', async () => {
    await connect((_, nth, topic) => (topic === REPLACEMENT && nth === 0 ? NOT_LEADER : undefined));
    await sendAll(['known']);
    readTopicNamesFrom(() => Promise.resolve({ topics: { [TOPIC]: REPLACEMENT }, former: {} }));
    await topicNamesKnown();

    const reports = await sendAll(['a', 'b', 'c']);

    expect(broker.values(0, REPLACEMENT)).toEqual(['a', 'b', 'c']);
    expect(summary(reports)).toEqual([
      ['a', undefined, 0],
      ['b', undefined, 1],
      ['c', undefined, 2],
    ]);
  });

  it('a record whose success librdkafka only concludes from a later one has failed', async () => {
    // The broker has forgotten the producer: the next batch is refused, the one after it accepted.
    await connect((_, nth) => (nth === 1 ? NOT_LEADER : undefined));
    await sendAll(['a']);
    broker.forgetProducers();

    const reports = await sendAll(['b', 'c', 'd']);

    expect(broker.values(0)).toEqual(['a', 'c', 'd']);
    expect(summary(reports)).toEqual([
      ['b', 'Kafka acknowledged later records, but not this one', -1],
      ['c', undefined, 1],
      ['d', undefined, 2],
    ]);
  });
});

it('records that wait for the first one of their partition fail with it, in order', async () => {
  await connect(() => POLICY_VIOLATION);

  const reports = await sendAll(['a', 'b', 'c']);

  expect(reports.map(({ value, error }) => [value, error?.kafkaCode])).toEqual([
    ['a', POLICY_VIOLATION],
    ['b', POLICY_VIOLATION],
    ['c', POLICY_VIOLATION],
  ]);
  expect(broker.arrived).toHaveLength(1);
});

it('records that wait for a first one that is too large fail for another reason', async () => {
  await connect((_, nth) => (nth === 0 ? MESSAGE_TOO_LARGE : undefined));

  const reports = await sendAll(['a', 'b', 'c']);

  expect(reports.map(({ value, error }) => [value, error?.kafkaCode])).toEqual([
    ['a', MESSAGE_TOO_LARGE],
    ['b', QUEUE_FULL],
    ['c', QUEUE_FULL],
  ]);
  expect(broker.arrived).toHaveLength(1);
});

it('records that the client refuses after the first one fail before that one is reported', async () => {
  await connect(() => undefined);
  const largerThanTheClientAccepts = 'x'.repeat(17 * MIB);

  const reports = await sendAll(['a', largerThanTheClientAccepts, 'c']);

  expect(reports.map(({ value, error }) => [value[0], error?.kafkaCode])).toEqual([
    ['x', QUEUE_FULL],
    ['c', QUEUE_FULL],
    ['a', undefined],
  ]);
  expect(broker.values(0)).toEqual(['a']);
});

it('a producer that cannot connect leaves no timer behind', async () => {
  await connect(() => undefined);
  await producer.close(0);
  await broker.close();
  const begun = vi.spyOn(globalThis, 'setInterval');
  const ended = vi.spyOn(globalThis, 'clearInterval');

  await expect(
    connectProducer({ ...optionsFor(broker.address), connectTimeout: 1000 }),
  ).rejects.toThrow('cannot reach Kafka');

  const left = begun.mock.results
    .map(({ value }) => value as unknown)
    .filter((timer) => !ended.mock.calls.some(([of]) => of === timer));
  expect(left).toEqual([]);
});

it('records that wait for the first one count in the limits of the queue', async () => {
  await connect(() => undefined);
  const send = () =>
    producer.send({ topic: TOPIC, partition: 0, key: null, value: Buffer.from('v') }, () => {});

  for (let record = 0; record < QUEUED; record++) send();

  expect(send).toThrow('the queue of the producer is full');
});

it('a producer that is closed sends what waits for the first record of a partition', async () => {
  await connect(() => undefined);
  const sending = sendAll(['a', 'b', 'c']);

  await producer.close(10_000);

  expect(summary(await sending)).toEqual([
    ['a', undefined, 0],
    ['b', undefined, 1],
    ['c', undefined, 2],
  ]);
});
