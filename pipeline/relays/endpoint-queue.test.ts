import { describe, expect, test } from 'vitest';
import type { BreakerPhase } from '../../platform/breaker.ts';
import type { Delivery, Outcome } from './delivery.ts';
import { EndpointQueue } from './endpoint-queue.ts';
import { RELAY_LIMITS } from './limits.ts';
import type { Relay } from './relay.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';

const RELAY: Relay = {
  id: 1,
  accountId: 1,
  url: 'https://a.example/',
  secret: { kind: 'none' },
  matches: () => true,
};
const SUCCESS: Outcome = { kind: 'succeeded', status: 200 };
const FAILURE: Outcome = { kind: 'retry', status: 500, error: 'x', delay: 10_000 };

/** A queue whose attempts end when the test says so. */
function queueUnderTest(
  options: {
    attemptsPerEndpoint?: number;
    concurrency?: ConcurrencyLimit;
    waitingPerEndpoint?: number;
  } = {},
) {
  const limits = {
    ...RELAY_LIMITS,
    attemptsPerEndpoint: options.attemptsPerEndpoint ?? 2,
    waitingPerEndpoint: options.waitingPerEndpoint ?? 100,
  };
  const attempts: { delivery: Delivery; end(outcome: Outcome): Promise<void> }[] = [];
  const phases: BreakerPhase[] = [];
  const clock = { now: 0 };
  const queue = new EndpointQueue(RELAY, {
    limits,
    concurrency: options.concurrency ?? new ConcurrencyLimit(100),
    attempt: (_, delivery) => {
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      attempts.push({
        delivery,
        end: async (outcome) => {
          resolve(outcome);
          await turns();
        },
      });
      return promise;
    },
    now: () => clock.now,
    random: () => 1,
    onPhase: (_, phase) => phases.push(phase),
  });
  return { queue, attempts, phases, clock };
}

const turns = () => new Promise<void>((resolve) => setImmediate(resolve));

function delivery(index: number, attempts = 0): Delivery {
  return {
    relayId: 1,
    accountId: 1,
    position: { epoch: 0, partition: 0, offset: 1, index },
    messageId: `m${index}`,
    event: 'e',
    payload: '{}',
    attempts,
  };
}

describe('the queue of an endpoint', () => {
  test('limits concurrent attempts and starts the rest in order', async () => {
    const { queue, attempts } = queueUnderTest();
    const queued = [1, 2, 3].map((index) => queue.enqueue(delivery(index)));
    expect(attempts.map((one) => one.delivery.messageId)).toEqual(['m1', 'm2']);
    await attempts[1]?.end(SUCCESS);
    expect(attempts.map((one) => one.delivery.messageId)).toEqual(['m1', 'm2', 'm3']);
    expect(queued.map(({ result }) => result)).toEqual([undefined, SUCCESS, undefined]);
    await attempts[0]?.end(FAILURE);
    await attempts[2]?.end(SUCCESS);
    expect(await Promise.all(queued.map(({ outcome }) => outcome))).toEqual([
      FAILURE,
      SUCCESS,
      SUCCESS,
    ]);
    expect(queue.capacity).toBe(RELAY_LIMITS.claimPerEndpoint);
  });

  test('cancels a delivery only before its attempt has begun', async () => {
    const { queue, attempts } = queueUnderTest({ attemptsPerEndpoint: 1 });
    const [first, second] = [queue.enqueue(delivery(1)), queue.enqueue(delivery(2))];
    expect(first.cancel()).toBe(false);
    expect(second.cancel()).toBe(true);
    expect(await second.outcome).toEqual({ kind: 'waiting', delay: 0, error: null });
    await attempts[0]?.end(SUCCESS);
    expect(attempts).toHaveLength(1);
  });

  test('releases waiting deliveries after five consecutive failures, then attempts one at a time', async () => {
    const { queue, attempts, phases, clock } = queueUnderTest({ attemptsPerEndpoint: 1 });
    const queued = [1, 2, 3, 4, 5, 6, 7].map((index) => queue.enqueue(delivery(index)));
    for (let n = 0; n < 5; n++) await attempts[n]?.end(FAILURE);
    expect(attempts).toHaveLength(5);
    expect(queued.at(-1)?.result).toEqual({ kind: 'waiting', delay: 5000, error: null });
    expect([queue.acceptsFromStream, queue.capacity, queue.phase]).toEqual([false, 0, 'open']);
    expect(queue.enqueue(delivery(8)).result).toMatchObject({ kind: 'waiting' });
    clock.now = 5000;
    expect([queue.acceptsFromStream, queue.capacity, queue.phase]).toEqual([false, 1, 'half_open']);
    queue.enqueue(delivery(9));
    queue.enqueue(delivery(10));
    expect(attempts).toHaveLength(6);
    await attempts[5]?.end(SUCCESS);
    expect([queue.acceptsFromStream, queue.phase]).toEqual([true, 'closed']);
    expect(attempts).toHaveLength(7);
    expect(phases).toEqual(['open', 'closed']);
  });

  test('counts a final answer as a sign of life, but not a tenth failure', async () => {
    const { queue, attempts } = queueUnderTest({ attemptsPerEndpoint: 10 });
    for (let index = 0; index < 10; index++) queue.enqueue(delivery(index));
    const dead = (isExhausted: boolean): Outcome => ({
      kind: 'dead',
      status: 400,
      error: 'x',
      isExhausted,
    });
    for (let n = 0; n < 4; n++) await attempts[n]?.end(dead(true));
    await attempts[4]?.end(dead(false));
    for (let n = 5; n < 9; n++) await attempts[n]?.end(dead(true));
    expect(queue.phase).toBe('closed');
    await attempts[9]?.end(dead(true));
    expect(queue.phase).toBe('open');
  });

  test('accepts nothing from the stream while its mean latency is high (relays-panel 8)', async () => {
    const { queue, attempts, clock } = queueUnderTest();
    const attemptFor = async (ms: number) => {
      queue.enqueue(delivery(attempts.length));
      clock.now += ms;
      await attempts.at(-1)?.end(SUCCESS);
      return queue.acceptsFromStream;
    };
    expect([await attemptFor(400), queue.isQuick]).toEqual([false, false]);
    expect([await attemptFor(5), await attemptFor(5), await attemptFor(5)]).toEqual([
      ...[false, false, true],
    ]);
    expect(queue.isQuick).toBe(true);
  });

  test('accepts nothing from the stream once an attempt has outlasted its wait', async () => {
    const { queue, attempts } = queueUnderTest();
    queue.enqueue(delivery(1));
    queue.markSlow();
    expect([queue.acceptsFromStream, queue.capacity > 0]).toEqual([false, true]);
    for (let n = 0; n < 3; n++) {
      await attempts[n]?.end(SUCCESS);
      queue.enqueue(delivery(n + 2));
    }
    expect(queue.acceptsFromStream).toBe(true);
  });

  test('takes as many rows as it can attempt now; a quick one, until the next claim', async () => {
    const { queue, attempts, clock } = queueUnderTest({ attemptsPerEndpoint: 8 });
    expect(queue.capacity).toBe(8);
    queue.enqueue(delivery(1));
    expect(queue.capacity).toBe(7);
    clock.now += RELAY_LIMITS.minPause / 2;
    await attempts[0]?.end(SUCCESS);
    expect(queue.capacity).toBe(3 * 8);
  });

  test('accepts no more deliveries from the stream than waitingPerEndpoint', () => {
    const { queue } = queueUnderTest({ attemptsPerEndpoint: 1, waitingPerEndpoint: 3 });
    for (let index = 0; index < 4; index++) {
      expect(queue.acceptsFromStream).toBe(true);
      queue.enqueue(delivery(index));
    }
    expect(queue.acceptsFromStream).toBe(false);
  });

  test('accepts nothing while its secret is sealed, and reports what its deliveries wait for', () => {
    const { queue } = queueUnderTest();
    queue.update({ ...RELAY, secret: { kind: 'sealed', problem: 'waits: no key' } });
    expect([queue.acceptsFromStream, queue.capacity]).toEqual([false, 0]);
    expect(queue.waitingOutcome).toEqual({ kind: 'waiting', delay: 0, error: 'waits: no key' });
  });

  test('closes the breaker when the relay has another URL', async () => {
    const { queue, attempts } = queueUnderTest({ attemptsPerEndpoint: 6 });
    for (let index = 0; index < 6; index++) queue.enqueue(delivery(index));
    for (let n = 0; n < 5; n++) await attempts[n]?.end(FAILURE);
    queue.update({ ...RELAY, url: 'https://b.example/' });
    expect(queue.phase).toBe('closed');
    // An attempt at the old one says nothing about the new one.
    await attempts[5]?.end(FAILURE);
    expect(queue.acceptsFromStream).toBe(true);
  });
});

describe('the concurrency limit', () => {
  test('is shared by all queues and wakes those that found no permit', async () => {
    // Two permits for endpoints of one account that are not known to be quick.
    const concurrency = new ConcurrencyLimit(8);
    const [one, other] = [queueUnderTest({ concurrency }), queueUnderTest({ concurrency })];
    one.queue.enqueue(delivery(1));
    one.queue.enqueue(delivery(2));
    other.queue.enqueue(delivery(3));
    expect(other.attempts).toHaveLength(0);
    await one.attempts[0]?.end(SUCCESS);
    expect(other.attempts).toHaveLength(1);
    expect(concurrency.inUse).toBe(2);
  });

  test('reserves half of the permits for quick endpoints, and half for other accounts', () => {
    const concurrency = new ConcurrencyLimit(8);
    const acquired = (accountId: number, isQuick: boolean) => {
      let count = 0;
      while (concurrency.acquire({ accountId, isQuick, retry: () => undefined })) count++;
      return count;
    };
    // A quarter for an account's endpoints that are not quick, half for all of its endpoints.
    expect(acquired(1, false)).toBe(2);
    expect(acquired(1, true)).toBe(2);
    expect(acquired(2, false)).toBe(2);
    expect(acquired(3, false)).toBe(0);
    expect(acquired(3, true)).toBe(2);
    expect(concurrency.inUse).toBe(8);
  });

  test('gives a permit that is free again to the accounts by turns', () => {
    const concurrency = new ConcurrencyLimit(4);
    const held: (() => void)[] = [];
    const served: number[] = [];
    const request = (accountId: number) => {
      const retry = () => {
        const release = concurrency.acquire({ accountId, isQuick: true, retry });
        if (!release) return;
        served.push(accountId);
        held.push(release);
      };
      retry();
    };
    for (const accountId of [1, 1, 2, 2, 3, 3, 4]) request(accountId);
    expect(served).toEqual([1, 1, 2, 2]);
    for (let n = 0; n < 3; n++) held[n]?.();
    expect(served).toEqual([1, 1, 2, 2, 3, 4, 3]);
  });
});
