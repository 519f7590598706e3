import pino from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { WakeSignal } from './wake-signal.ts';
import type { Outcome } from './delivery.ts';
import { FirstAttempts } from './first-attempts.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import { RELAY_LIMITS } from './limits.ts';
import { BEFORE_FIRST, type PartitionPosition } from '../../schemas/log-position.ts';
import { relayMetrics } from './metrics.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import type { Relay } from './relay.ts';
import { Slots } from './slots.ts';
import type { Settling } from './store.ts';
import { relayTask } from './task.ts';

const log = pino({ level: 'silent' });
const empty = eventRowCodec.type.random() as unknown as EventRow;

function row(offset: number, over: Partial<EventRow> = {}): EventRow {
  return {
    ...empty,
    ...{
      _epoch: 0,
      _partition: 2,
      _offset: offset,
      _index: 0,
      account_id: 1,
      event: 'a',
      user_id: 'u',
      anonymous_id: '',
      message_id: `m${offset}`,
    },
    ...{
      timestamp: 0,
      received_at: 1000,
      properties: { n: String(offset) },
      property_numbers: { n: offset },
    },
    ...over,
  };
}

function message(offset: number, rows: EventRow[]) {
  const [first, last] = [rows[0], rows.at(-1)];
  const value = rowBatchCodec.encode({
    ...{
      epoch: 0,
      partition: 2,
      first_offset: first?._offset ?? 0,
      first_index: 0,
      last_offset: last?._offset ?? 0,
      last_index: 0,
      appended_at: 0,
    },
    rows,
  });
  return {
    topic: 't',
    partition: 2,
    offset,
    timestamp: 5000,
    key: null,
    value,
    size: value.length,
  };
}

function relay(id: number, over: Partial<Relay> = {}): Relay {
  return {
    id,
    accountId: 1,
    url: `https://r${id}.example/`,
    secret: { kind: 'none' },
    wants: () => true,
    ...over,
  };
}

/** A task whose endpoints answer as the test says, over a store that keeps what it was told. */
async function taskUnderTest(options: {
  relays: Relay[];
  answer: (relay: Relay, messageId: string) => Promise<Outcome>;
  position?: PartitionPosition;
  chunk?: number;
}) {
  const limits = { ...RELAY_LIMITS, patience: 30, chunk: options.chunk ?? 500 };
  const settled: Settling[] = [];
  const finished: { id: number; outcome: Outcome }[] = [];
  const asked: number[] = [];
  const lanes = new EndpointQueues({
    limits,
    slots: new Slots(100),
    attempt: (to, delivery) => options.answer(to, delivery.messageId),
    now: () => Date.now(),
    random: () => 0,
    onPhase: () => undefined,
  });
  lanes.update(options.relays);
  const metrics = relayMetrics(new Registry(), { phases: () => [], attemptsNow: () => 0 });
  const { signal } = new AbortController();
  const outcomes = new OutcomeWriter({
    store: { finish: (batch) => Promise.resolve(void finished.push(...batch)) },
    log,
    signal,
  });
  const task = await relayTask({
    store: {
      position: () => Promise.resolve(options.position ?? BEFORE_FIRST),
      settle: (settling) => {
        settled.push(settling);
        return Promise.resolve(
          new Map(
            settling.entries.flatMap(({ outcome }, at) =>
              outcome.kind === 'in_hand' ? [[at, 100 + at] as const] : [],
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
    first: new FirstAttempts({ lanes, outcomes, metrics, limits, bell: new WakeSignal() }),
    metrics,
    limits,
    log,
    partition: 2,
    signal,
  });
  return { task, settled, finished, asked, outcomes };
}

const SUCCESS: Outcome = { kind: 'succeeded', status: 200 };
const kinds = (settling: Settling | undefined) =>
  settling?.entries.map(
    ({ delivery, outcome }) => `${delivery.relayId}:${delivery.messageId}:${outcome.kind}`,
  );

describe('one partition', () => {
  test('each event goes to each relay of its account that wants it; the offset follows what is settled', async () => {
    const relays = [
      relay(1),
      relay(2, { wants: ({ event }) => event === 'b' }),
      relay(3, { accountId: 9 }),
    ];
    const { task, settled, asked } = await taskUnderTest({
      relays,
      answer: () => Promise.resolve(SUCCESS),
    });
    expect(
      await task.process([
        message(4, [row(10), row(11, { event: 'b' })]),
        message(5, [row(12, { account_id: 8 })]),
      ]),
    ).toBe(6);
    expect(settled.map(kinds)).toEqual([['1:m10:succeeded', '1:m11:succeeded', '2:m11:succeeded']]);
    expect(settled[0]).toMatchObject({
      partition: 2,
      from: BEFORE_FIRST,
      to: { epoch: 0, offset: 11, index: 0 },
    });
    expect(settled[0]?.entries[0]?.delivery.place).toEqual({
      epoch: 0,
      partition: 2,
      offset: 10,
      index: 0,
    });
    // Whoever saved a relay before the newest of these events was appended finds it applied.
    expect(asked).toEqual([5000]);
  });

  test('places that were settled before are skipped, in this process and before it', async () => {
    const { task, settled } = await taskUnderTest({
      relays: [relay(1)],
      answer: () => Promise.resolve(SUCCESS),
      position: { epoch: 0, offset: 10, index: 0 },
    });
    await task.process([message(4, [row(9), row(10), row(11)])]);
    await task.process([message(5, [row(11), row(12)])]);
    expect(settled.map(kinds)).toEqual([['1:m11:succeeded'], ['1:m12:succeeded']]);
    expect(settled[1]?.from).toEqual({ epoch: 0, offset: 11, index: 0 });
  });

  test('is settled in chunks; all deliveries of one event are in one', async () => {
    const { task, settled } = await taskUnderTest({
      relays: [relay(1), relay(2)],
      answer: () => Promise.resolve(SUCCESS),
      chunk: 3,
    });
    await task.process([message(4, [row(1), row(2), row(3)])]);
    expect(settled.map((one) => one.entries.length)).toEqual([4, 2]);
    expect(settled.map(({ to }) => to.offset)).toEqual([2, 3]);
  });

  test('an endpoint that does not answer is left behind: its attempt goes on, the others are settled', async () => {
    let answer: (outcome: Outcome) => void = () => undefined;
    const silent = new Promise<Outcome>((resolve) => (answer = resolve));
    const { task, settled, finished, outcomes } = await taskUnderTest({
      relays: [relay(1), relay(2)],
      answer: ({ id }) => (id === 1 ? silent : Promise.resolve(SUCCESS)),
    });
    expect(await task.process([message(4, [row(1)])])).toBe(5);
    expect(settled.map(kinds)).toEqual([['1:m1:in_hand', '2:m1:succeeded']]);
    // From now on its deliveries wait in the queue at once.
    await task.process([message(5, [row(2)])]);
    expect(kinds(settled[1])).toEqual(['1:m2:waiting', '2:m2:succeeded']);
    expect(outcomes.has(100)).toBe(true);
    answer(SUCCESS);
    await outcomes.drain(2000);
    expect(finished).toEqual([{ id: 100, outcome: SUCCESS }]);
  });

  test('a record that cannot be read holds nothing up', async () => {
    const { task, settled } = await taskUnderTest({
      relays: [relay(1)],
      answer: () => Promise.resolve(SUCCESS),
    });
    const broken = { ...message(4, [row(1)]), value: Buffer.from('nonsense') };
    expect(await task.process([broken, message(5, [row(2)])])).toBe(6);
    expect(settled.map(kinds)).toEqual([['1:m2:succeeded']]);
  });

  test('without relays nothing is read', async () => {
    const { task, settled } = await taskUnderTest({
      relays: [],
      answer: () => Promise.resolve(SUCCESS),
    });
    expect(await task.process([{ ...message(4, [row(1)]), value: Buffer.from('nonsense') }])).toBe(
      5,
    );
    expect(settled).toEqual([]);
  });
});
