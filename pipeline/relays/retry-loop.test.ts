import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { WakeSignal } from '../../platform/wake-signal.ts';
import type { Delivery, Outcome } from './delivery.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import { RELAY_LIMITS } from './limits.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import type { Relay } from './relay.ts';
import { retryLoop } from './retry-loop.ts';
import { KEEP_EVERYTHING } from './testing/keep-everything.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { AvailableEndpoint } from './plan-claim.ts';
import type { ClaimedDelivery } from './store.ts';

const log = pino({ level: 'silent' });
const SUCCESS: Outcome = { kind: 'succeeded', status: 200 };

function relay(id: number): Relay {
  return {
    id,
    accountId: 1,
    url: `https://r${id}.example/`,
    secret: { kind: 'none' },
    matches: () => true,
  };
}

function delivery(relayId: number, index: number): Delivery {
  return {
    relayId,
    accountId: 1,
    position: { epoch: 0, partition: 0, offset: 0, index },
    messageId: `m${index}`,
    event: 'e',
    payload: '{}',
    attempts: 1,
  };
}

/** The loop with a queue in PostgreSQL whose claims answer what the test says. */
function loopUnderTest(options: {
  relays: Relay[];
  claims: (ClaimedDelivery[] | Error)[];
  attempt?: (to: Relay) => Promise<Outcome>;
  /** The relays as they are after the first claim. */
  later?: Relay[];
}) {
  const limits = { ...RELAY_LIMITS, minPause: 1, maxPause: 5 };
  const stop = new AbortController();
  const finished: number[] = [];
  const endpoints: AvailableEndpoint[][] = [];
  const concurrency = new ConcurrencyLimit(100);
  const queues = new EndpointQueues({
    limits,
    concurrency,
    attempt: options.attempt ?? (() => Promise.resolve(SUCCESS)),
    now: () => Date.now(),
    random: () => 0,
    onPhase: () => undefined,
  });
  queues.update(options.relays);
  const finish = (batch: readonly { id: number }[]) =>
    Promise.resolve(void finished.push(...batch.map(({ id }) => id)));
  const outcomes = new OutcomeWriter({
    ...{ store: { finish }, deliveryLog: KEEP_EVERYTHING, log, signal: stop.signal },
  });
  const claims = [...options.claims];
  const { promise: drained, resolve } = Promise.withResolvers<undefined>();
  let next: ClaimedDelivery[] = [];
  const store = {
    due(read: { endpoints: readonly AvailableEndpoint[] }) {
      endpoints.push([...read.endpoints]);
      const claimed = claims.shift();
      if (claimed === undefined) resolve(undefined);
      if (claimed instanceof Error) return Promise.reject(claimed);
      next = claimed ?? [];
      return Promise.resolve(
        next.map(({ id, delivery: { relayId } }) => ({ id, relayId, bytes: 2 })),
      );
    },
    claim: ({ ids }: { ids: readonly number[] }) =>
      Promise.resolve(next.filter(({ id }) => ids.includes(id))),
  };
  const definitions = {
    asOf() {
      if (endpoints.length > 0 && options.later) queues.update(options.later);
      return Promise.resolve(new Map<number, Relay[]>());
    },
  };
  const running = retryLoop({
    store,
    definitions,
    queues,
    outcomes,
    concurrency,
    limits,
    log,
    now: () => Date.now(),
    wakeSignal: new WakeSignal(),
    signal: stop.signal,
  });
  return {
    ...{ finished, endpoints, outcomes },
    end: async () => {
      await drained;
      await outcomes.drain(1000);
      stop.abort(new Error('over'));
      await running;
    },
  };
}

describe('the retry loop', () => {
  test('claims as many rows as each endpoint queue can process, attempts them and writes the outcomes', async () => {
    const claims = [
      [
        { id: 7, delivery: delivery(1, 1) },
        { id: 8, delivery: delivery(2, 2) },
      ],
    ];
    const loop = loopUnderTest({ relays: [relay(1), relay(2)], claims });
    await loop.end();
    expect(loop.finished.sort()).toEqual([7, 8]);
    expect(loop.endpoints[0]).toEqual(
      [1, 2].map((relayId) => ({
        ...{ relayId, accountId: 1, isQuick: false },
        capacity: RELAY_LIMITS.attemptsPerEndpoint,
      })),
    );
  });

  test('continues when PostgreSQL is available again', async () => {
    const loop = loopUnderTest({
      relays: [relay(1)],
      claims: [
        new Error('unavailable'),
        new Error('unavailable'),
        [{ id: 7, delivery: delivery(1, 1) }],
      ],
    });
    await loop.end();
    expect(loop.finished).toEqual([7]);
  });

  test('does not attempt a row again that is still in flight', async () => {
    let attempts = 0;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const row = { id: 7, delivery: delivery(1, 1) };
    const loop = loopUnderTest({
      relays: [relay(1)],
      claims: [[row], [row]],
      attempt: () => (attempts++, promise),
    });
    setTimeout(() => resolve(SUCCESS), 50);
    await loop.end();
    expect([attempts, loop.finished]).toEqual([1, [7]]);
  });

  test('sends a delivery that is retried after its relay was corrected to the new URL', async () => {
    const urls: string[] = [];
    const loop = loopUnderTest({
      relays: [relay(1)],
      claims: [[{ id: 7, delivery: delivery(1, 1) }]],
      later: [{ ...relay(1), url: 'https://right.example/' }],
      attempt: ({ url }) => (urls.push(url), Promise.resolve(SUCCESS)),
    });
    await loop.end();
    expect(urls).toEqual(['https://right.example/']);
  });

  test('releases a row whose relay was deleted', async () => {
    const loop = loopUnderTest({
      relays: [relay(1), relay(2)],
      claims: [[{ id: 9, delivery: delivery(1, 1) }]],
      later: [relay(2)],
    });
    await loop.end();
    expect(loop.finished).toEqual([9]);
  });
});

describe('the wake signal', () => {
  test('ends a wait, also one that begins after the notification', async () => {
    const wakeSignal = new WakeSignal();
    const { signal } = new AbortController();
    wakeSignal.notify();
    await wakeSignal.wait(60_000, signal);
    const waiting = wakeSignal.wait(60_000, signal);
    wakeSignal.notify();
    await waiting;
  });

  test('ends a wait when the abort signal aborts', async () => {
    const stop = new AbortController();
    const waiting = new WakeSignal().wait(60_000, stop.signal);
    stop.abort();
    await waiting;
  });
});
