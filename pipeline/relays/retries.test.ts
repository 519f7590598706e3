import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { WakeSignal } from './wake-signal.ts';
import type { Delivery, Outcome } from './delivery.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import { RELAY_LIMITS } from './limits.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import type { Relay } from './relay.ts';
import { retryLoop } from './retries.ts';
import { Slots } from './slots.ts';
import type { Claimed } from './store.ts';

const log = pino({ level: 'silent' });
const SUCCESS: Outcome = { kind: 'succeeded', status: 200 };

function relay(id: number): Relay {
  return {
    id,
    accountId: 1,
    url: `https://r${id}.example/`,
    secret: { kind: 'none' },
    wants: () => true,
  };
}

function delivery(relayId: number, index: number): Delivery {
  return {
    relayId,
    accountId: 1,
    place: { epoch: 0, partition: 0, offset: 0, index },
    messageId: `m${index}`,
    event: 'e',
    payload: '{}',
    attempts: 1,
  };
}

/** The loop over a queue that the test fills; `claimed` answers what the next claim takes. */
function loopUnderTest(options: {
  relays: Relay[];
  claims: (Claimed[] | Error)[];
  attempt?: (to: Relay) => Promise<Outcome>;
  /** The relays as they are after the first claim. */
  later?: Relay[];
}) {
  const limits = { ...RELAY_LIMITS, busy: 1, idle: 5 };
  const stop = new AbortController();
  const finished: number[] = [];
  const rooms: { relayId: number; room: number }[][] = [];
  const lanes = new EndpointQueues({
    limits,
    slots: new Slots(100),
    attempt: options.attempt ?? (() => Promise.resolve(SUCCESS)),
    now: () => Date.now(),
    random: () => 0,
    onPhase: () => undefined,
  });
  lanes.update(options.relays);
  const finish = (batch: readonly { id: number }[]) =>
    Promise.resolve(void finished.push(...batch.map(({ id }) => id)));
  const outcomes = new OutcomeWriter({ store: { finish }, log, signal: stop.signal });
  const claims = [...options.claims];
  const { promise: drained, resolve } = Promise.withResolvers<undefined>();
  const claim = (wanted: { rooms: readonly { relayId: number; room: number }[] }) => {
    rooms.push([...wanted.rooms]);
    const next = claims.shift();
    if (next === undefined) resolve(undefined);
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next ?? []);
  };
  const definitions = {
    asOf() {
      if (rooms.length > 0 && options.later) lanes.update(options.later);
      return Promise.resolve(new Map<number, Relay[]>());
    },
  };
  const running = retryLoop({
    store: { claim },
    definitions,
    lanes,
    outcomes,
    limits,
    log,
    now: () => Date.now(),
    bell: new WakeSignal(),
    signal: stop.signal,
  });
  return {
    ...{ finished, rooms, outcomes },
    end: async () => {
      await drained;
      await outcomes.drain(1000);
      stop.abort(new Error('over'));
      await running;
    },
  };
}

describe('the retry loop', () => {
  test('asks for as many rows as each lane can do with, attempts them and writes what became of them', async () => {
    const claims = [
      [
        { id: 7, delivery: delivery(1, 1) },
        { id: 8, delivery: delivery(2, 2) },
      ],
    ];
    const under = loopUnderTest({ relays: [relay(1), relay(2)], claims });
    await under.end();
    expect(under.finished.sort()).toEqual([7, 8]);
    expect(under.rooms[0]).toEqual([
      { relayId: 1, room: RELAY_LIMITS.claimPerEndpoint },
      { relayId: 2, room: RELAY_LIMITS.claimPerEndpoint },
    ]);
  });

  test('goes on when PostgreSQL was away', async () => {
    const under = loopUnderTest({
      relays: [relay(1)],
      claims: [new Error('away'), new Error('away'), [{ id: 7, delivery: delivery(1, 1) }]],
    });
    await under.end();
    expect(under.finished).toEqual([7]);
  });

  test('does not attempt a row twice that it still has in hand', async () => {
    let attempts = 0;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const row = { id: 7, delivery: delivery(1, 1) };
    const under = loopUnderTest({
      relays: [relay(1)],
      claims: [[row], [row]],
      attempt: () => (attempts++, promise),
    });
    setTimeout(() => resolve(SUCCESS), 50);
    await under.end();
    expect([attempts, under.finished]).toEqual([1, [7]]);
  });

  test('a delivery that is retried after its relay was put right goes to the new address', async () => {
    const urls: string[] = [];
    const under = loopUnderTest({
      relays: [relay(1)],
      claims: [[{ id: 7, delivery: delivery(1, 1) }]],
      later: [{ ...relay(1), url: 'https://right.example/' }],
      attempt: ({ url }) => (urls.push(url), Promise.resolve(SUCCESS)),
    });
    await under.end();
    expect(urls).toEqual(['https://right.example/']);
  });

  test('gives a row back whose relay is gone', async () => {
    const under = loopUnderTest({
      relays: [relay(1)],
      claims: [[{ id: 9, delivery: delivery(5, 1) }]],
    });
    await under.end();
    expect(under.finished).toEqual([9]);
  });
});

describe('the bell', () => {
  test('ends a wait, also one that begins after it was rung', async () => {
    const bell = new WakeSignal();
    const { signal } = new AbortController();
    bell.notify();
    await bell.wait(60_000, signal);
    const waiting = bell.wait(60_000, signal);
    bell.notify();
    await waiting;
  });

  test('ends with the signal', async () => {
    const stop = new AbortController();
    const waiting = new WakeSignal().wait(60_000, stop.signal);
    stop.abort();
    await waiting;
  });
});
