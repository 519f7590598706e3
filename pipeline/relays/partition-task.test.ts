import pino from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { WakeSignal } from '../../platform/wake-signal.ts';
import type { Delivery, Outcome } from './delivery.ts';
import { FirstAttempts } from './first-attempts.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import { RELAY_LIMITS } from './limits.ts';
import { BEFORE_FIRST, type PartitionPosition } from '../../schemas/log-position.ts';
import { relayMetrics } from './metrics.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import type { Relay } from './relay.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { Completion } from './store.ts';
import { relayPartitionTask } from './partition-task.ts';
import { KEEP_EVERYTHING } from './testing/keep-everything.ts';
import { message, relay, row } from './testing/records.ts';

const log = pino({ level: 'silent' });
/** A task whose endpoints answer as the test says, with a store that records its completions. */
async function taskUnderTest(options: {
  relays: Relay[];
  answer: (relay: Relay, messageId: string) => Promise<Outcome>;
  position?: PartitionPosition;
  chunk?: number;
  firstAttemptWait?: number;
  /** Deliveries whose statement is longer than a string may be. */
  refuses?: (delivery: Delivery) => boolean;
}) {
  const limits = {
    ...RELAY_LIMITS,
    firstAttemptWait: options.firstAttemptWait ?? 30,
    chunkDeliveries: options.chunk ?? 500,
  };
  const completed: Completion[] = [];
  const finished: { id: number; outcome: Outcome }[] = [];
  const asked: number[] = [];
  const queues = new EndpointQueues({
    limits,
    concurrency: new ConcurrencyLimit(100),
    attempt: (to, delivery) => options.answer(to, delivery.messageId),
    now: () => Date.now(),
    random: () => 0,
    onPhase: () => undefined,
  });
  queues.update(options.relays);
  const metrics = relayMetrics(new Registry(), { phases: () => [], attemptsNow: () => 0 });
  const { signal } = new AbortController();
  const outcomes = new OutcomeWriter({
    store: { finish: (batch) => Promise.resolve(void finished.push(...batch)) },
    deliveryLog: KEEP_EVERYTHING,
    log,
    signal,
  });
  const task = await relayPartitionTask({
    store: {
      position: () => Promise.resolve(options.position ?? BEFORE_FIRST),
      complete: (completion) => {
        if (completion.results.some(({ delivery }) => options.refuses?.(delivery)))
          return Promise.reject(new RangeError('Invalid string length'));
        completed.push(completion);
        return Promise.resolve(
          new Map(
            completion.results.flatMap(({ outcome }, at) =>
              outcome.kind === 'in_flight' ? [[at, 100 + at] as const] : [],
            ),
          ),
        );
      },
    },
    definitions: {
      asOf: (time) => {
        asked.push(time);
        return Promise.resolve(Map.groupBy(options.relays, ({ accountId }) => accountId));
      },
    },
    firstAttempts: new FirstAttempts({
      queues,
      outcomes,
      metrics,
      limits,
      wakeSignal: new WakeSignal(),
    }),
    deliveryLog: KEEP_EVERYTHING,
    metrics,
    limits,
    log,
    partition: 2,
    signal,
  });
  return { task, completed, finished, asked, outcomes };
}

const SUCCESS: Outcome = { kind: 'succeeded', status: 200 };
const kinds = (completion: Completion | undefined) =>
  completion?.results.map(
    ({ delivery, outcome }) => `${delivery.relayId}:${delivery.messageId}:${outcome.kind}`,
  );

describe('the task of a partition', () => {
  test('stores the evidence of the log before it offers a delivery, and only then', async () => {
    const steps: string[] = [];
    const { task } = await taskUnderTest({
      relays: [relay(1, { matches: ({ event }) => event === 'b' })],
      answer: () => Promise.resolve((steps.push('attempt'), SUCCESS)),
    });
    task.beforeEffects?.(() => Promise.resolve(void steps.push('evidence')));
    expect(await task.process([message(4, [row(10)])])).toBe(5);
    expect(steps).toEqual([]);
    expect(await task.process([message(5, [row(11, { event: 'b' })])])).toBe(6);
    expect(steps).toEqual(['evidence', 'attempt']);
  });

  test('sends each event to each matching relay of its account and then advances the offset', async () => {
    const relays = [
      relay(1),
      relay(2, { matches: ({ event }) => event === 'b' }),
      relay(3, { accountId: 9 }),
    ];
    const { task, completed, asked } = await taskUnderTest({
      relays,
      answer: () => Promise.resolve(SUCCESS),
    });
    expect(
      await task.process([
        message(4, [row(10), row(11, { event: 'b' })]),
        message(5, [row(12, { account_id: 8 })]),
      ]),
    ).toBe(6);
    expect(completed.map(kinds)).toEqual([
      ['1:m10:succeeded', '1:m11:succeeded', '2:m11:succeeded'],
    ]);
    expect(completed[0]).toMatchObject({
      partition: 2,
      from: BEFORE_FIRST,
      to: { epoch: 0, offset: 11, index: 0 },
    });
    expect(completed[0]?.results[0]?.delivery.position).toEqual({
      epoch: 0,
      partition: 2,
      offset: 10,
      index: 0,
    });
    // A relay that was saved before the newest of these events was appended applies to it.
    expect(asked).toEqual([5000]);
  });

  test('skips positions that this or an earlier process has completed', async () => {
    const { task, completed } = await taskUnderTest({
      relays: [relay(1)],
      answer: () => Promise.resolve(SUCCESS),
      position: { epoch: 0, offset: 10, index: 0 },
    });
    await task.process([message(4, [row(9), row(10), row(11)])]);
    await task.process([message(5, [row(11), row(12)])]);
    expect(completed.map(kinds)).toEqual([['1:m11:succeeded'], ['1:m12:succeeded']]);
    expect(completed[1]?.from).toEqual({ epoch: 0, offset: 11, index: 0 });
  });

  test('completes deliveries in chunks, with all deliveries of one event in one chunk', async () => {
    const { task, completed } = await taskUnderTest({
      relays: [relay(1), relay(2)],
      answer: () => Promise.resolve(SUCCESS),
      chunk: 3,
    });
    await task.process([message(4, [row(1), row(2), row(3)])]);
    expect(completed.map((one) => one.results.length)).toEqual([4, 2]);
    expect(completed.map(({ to }) => to.offset)).toEqual([2, 3]);
  });

  test('does not wait for an endpoint that does not answer: its attempt continues, and the others complete', async () => {
    let answer: (outcome: Outcome) => void = () => undefined;
    const silent = new Promise<Outcome>((resolve) => (answer = resolve));
    const { task, completed, finished, outcomes } = await taskUnderTest({
      relays: [relay(1), relay(2)],
      answer: ({ id }) => (id === 1 ? silent : Promise.resolve(SUCCESS)),
    });
    expect(await task.process([message(4, [row(1)])])).toBe(5);
    expect(completed.map(kinds)).toEqual([['1:m1:in_flight', '2:m1:succeeded']]);
    // From now on its deliveries go to the queue without an attempt.
    await task.process([message(5, [row(2)])]);
    expect(kinds(completed[1])).toEqual(['1:m2:waiting', '2:m2:succeeded']);
    expect(outcomes.has(100)).toBe(true);
    answer(SUCCESS);
    await outcomes.drain(2000);
    expect(finished).toEqual([{ id: 100, outcome: SUCCESS, isKept: true }]);
  });

  test('stores a 4.2 MB event for 64 relays in statements of one delivery each (relays-panel 1)', async () => {
    const relays = Array.from({ length: 64 }, (_, at) => relay(at + 1));
    const { task, completed } = await taskUnderTest({
      relays,
      answer: () => Promise.resolve(SUCCESS),
    });
    const big = row(1, { properties: { quotes: '"'.repeat(4_200_000) }, property_numbers: {} });
    expect(await task.process([message(4, [row(0), big, row(2)])])).toBe(5);
    const characters = completed.map(({ results }) =>
      results.reduce((sum, { delivery }) => sum + delivery.payload.length, 0),
    );
    expect(Math.max(...characters)).toBeLessThan(2 * 4_200_000 + 1000);
    const stored = completed.flatMap(({ results }) => results.map(({ delivery }) => delivery));
    expect(stored.filter(({ messageId }) => messageId === 'm1')).toHaveLength(64);
    expect(completed.at(-1)?.to.offset).toBe(2);
  });

  test('gives up an event that cannot be written as JSON, and delivers the others', async () => {
    const { task, completed } = await taskUnderTest({
      relays: [relay(1)],
      answer: () => Promise.resolve(SUCCESS),
    });
    const broken = row(1, { timestamp: 9e15 });
    expect(await task.process([message(4, [row(0), broken, row(2)])])).toBe(5);
    expect(completed.flatMap(kinds)).toEqual(['1:m0:succeeded', '1:m1:given_up', '1:m2:succeeded']);
  });

  test('commits an offset once everything before it is complete, and processes on meanwhile', async () => {
    let answer: (outcome: Outcome) => void = () => undefined;
    const silent = new Promise<Outcome>((resolve) => (answer = resolve));
    const { task, completed } = await taskUnderTest({
      relays: [relay(1)],
      answer: (_, messageId) => (messageId === 'm1' ? silent : Promise.resolve(SUCCESS)),
      firstAttemptWait: 60_000,
    });
    const commits: number[] = [];
    task.commitsLater?.({ commit: (offset) => commits.push(offset), failed: expect.unreachable });
    expect(await task.process([message(4, [row(1)])])).toBeUndefined();
    expect(await task.process([message(5, [row(2)])])).toBeUndefined();
    expect(await task.process([message(6, [row(3, { account_id: 8 })])])).toBeUndefined();
    expect([completed, commits]).toEqual([[], []]);
    answer(SUCCESS);
    await task.drain?.();
    expect(completed.flatMap(kinds)).toEqual(['1:m1:succeeded', '1:m2:succeeded']);
    expect(completed.map(({ from, to }) => [from.offset, to.offset])).toEqual([
      [-1, 1],
      [1, 2],
    ]);
    expect(commits).toEqual([5, 6, 7]);
  });

  test('holds a bounded number of deliveries that are not complete', async () => {
    let started = 0;
    let committed = 0;
    const { task } = await taskUnderTest({
      relays: [relay(1)],
      answer: () => (started++, new Promise<Outcome>(() => undefined)),
      firstAttemptWait: 60_000,
      chunk: 2,
    });
    task.commitsLater?.({ commit: () => committed++, failed: expect.unreachable });
    const rows = Array.from({ length: 200 }, (_, at) => row(at));
    void task.process([message(4, rows)]);
    await new Promise((resolve) => setImmediate(resolve));
    expect([started, committed]).toEqual([RELAY_LIMITS.attemptsPerEndpoint, 0]);
  });

  test('stores the other deliveries of a chunk when one cannot be stored (relays-panel 1)', async () => {
    const { task, completed } = await taskUnderTest({
      relays: [relay(1)],
      answer: () => Promise.resolve(SUCCESS),
      refuses: (delivery) => delivery.messageId === 'm2' && delivery.payload !== '',
    });
    expect(await task.process([message(4, [row(1), row(2), row(3)])])).toBe(5);
    expect(completed.flatMap(kinds)).toEqual(['1:m1:succeeded', '1:m2:given_up', '1:m3:succeeded']);
    expect(completed.at(-1)).toMatchObject({ to: { offset: 3 }, results: [] });
  });

  test('skips a record that cannot be decoded', async () => {
    const { task, completed } = await taskUnderTest({
      relays: [relay(1)],
      answer: () => Promise.resolve(SUCCESS),
    });
    const broken = { ...message(4, [row(1)]), value: Buffer.from('nonsense') };
    expect(await task.process([broken, message(5, [row(2)])])).toBe(6);
    expect(completed.map(kinds)).toEqual([['1:m2:succeeded']]);
  });

  test('does not decode records while there are no relays', async () => {
    const { task, completed } = await taskUnderTest({
      relays: [],
      answer: () => Promise.resolve(SUCCESS),
    });
    expect(await task.process([{ ...message(4, [row(1)]), value: Buffer.from('nonsense') }])).toBe(
      5,
    );
    expect(completed).toEqual([]);
  });
});
