import { describe, expect, test } from 'vitest';
import type { BreakerPhase } from './breaker.ts';
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

  test('accepts nothing from the stream after a slow attempt until one is fast', async () => {
    const { queue, attempts, clock } = queueUnderTest();
    queue.enqueue(delivery(1));
    queue.markSlow();
    expect([queue.acceptsFromStream, queue.capacity > 0]).toEqual([false, true]);
    clock.now = RELAY_LIMITS.firstAttemptWait + 1;
    await attempts[0]?.end(SUCCESS);
    expect(queue.acceptsFromStream).toBe(false);
    queue.enqueue(delivery(2));
    await attempts[1]?.end(SUCCESS);
    expect(queue.acceptsFromStream).toBe(true);
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
    const concurrency = new ConcurrencyLimit(2);
    const [one, other] = [queueUnderTest({ concurrency }), queueUnderTest({ concurrency })];
    one.queue.enqueue(delivery(1));
    one.queue.enqueue(delivery(2));
    other.queue.enqueue(delivery(3));
    expect(other.attempts).toHaveLength(0);
    await one.attempts[0]?.end(SUCCESS);
    expect(other.attempts).toHaveLength(1);
    expect(concurrency.inUse).toBe(2);
  });

  test('gives failing endpoints at most half of the permits', async () => {
    const concurrency = new ConcurrencyLimit(4);
    const failing = queueUnderTest({ concurrency, attemptsPerEndpoint: 4 });
    failing.queue.markSlow();
    for (let index = 0; index < 4; index++) failing.queue.enqueue(delivery(index));
    expect(failing.attempts).toHaveLength(2);
    const healthy = queueUnderTest({ concurrency });
    healthy.queue.enqueue(delivery(9));
    expect(healthy.attempts).toHaveLength(1);
    await failing.attempts[0]?.end(FAILURE);
    expect(failing.attempts).toHaveLength(3);
  });
});
