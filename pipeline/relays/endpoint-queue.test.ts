import { describe, expect, test } from 'vitest';
import type { BreakerPhase } from './breaker.ts';
import type { Delivery, Outcome } from './delivery.ts';
import { EndpointQueue } from './endpoint-queue.ts';
import { RELAY_LIMITS } from './limits.ts';
import type { Relay } from './relay.ts';
import { Slots } from './slots.ts';

const RELAY: Relay = {
  id: 1,
  accountId: 1,
  url: 'https://a.example/',
  secret: { kind: 'none' },
  wants: () => true,
};
const SUCCESS: Outcome = { kind: 'succeeded', status: 200 };
const FAILURE: Outcome = { kind: 'retry', status: 500, error: 'x', delay: 10_000 };

/** A lane whose attempts end when the test says so. */
function laneUnderTest(options: { perEndpoint?: number; slots?: Slots; waiting?: number } = {}) {
  const limits = {
    ...RELAY_LIMITS,
    perEndpoint: options.perEndpoint ?? 2,
    waiting: options.waiting ?? 100,
  };
  const attempts: { delivery: Delivery; end(outcome: Outcome): Promise<void> }[] = [];
  const phases: BreakerPhase[] = [];
  const clock = { now: 0 };
  const lane = new EndpointQueue(RELAY, {
    limits,
    slots: options.slots ?? new Slots(100),
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
  return { lane, attempts, phases, clock };
}

const turns = () => new Promise<void>((resolve) => setImmediate(resolve));

function delivery(index: number, attempts = 0): Delivery {
  return {
    relayId: 1,
    accountId: 1,
    place: { epoch: 0, partition: 0, offset: 1, index },
    messageId: `m${index}`,
    event: 'e',
    payload: '{}',
    attempts,
  };
}

describe('a lane', () => {
  test('attempts so many at once, the rest in order', async () => {
    const { lane, attempts } = laneUnderTest();
    const tickets = [1, 2, 3].map((index) => lane.offer(delivery(index)));
    expect(attempts.map((one) => one.delivery.messageId)).toEqual(['m1', 'm2']);
    await attempts[1]?.end(SUCCESS);
    expect(attempts.map((one) => one.delivery.messageId)).toEqual(['m1', 'm2', 'm3']);
    expect(tickets.map(({ settled }) => settled)).toEqual([undefined, SUCCESS, undefined]);
    await attempts[0]?.end(FAILURE);
    await attempts[2]?.end(SUCCESS);
    expect(await Promise.all(tickets.map(({ outcome }) => outcome))).toEqual([
      FAILURE,
      SUCCESS,
      SUCCESS,
    ]);
    expect(lane.room).toBe(RELAY_LIMITS.claimPerEndpoint);
  });

  test('gives back what has not begun, and only that', async () => {
    const { lane, attempts } = laneUnderTest({ perEndpoint: 1 });
    const [first, second] = [lane.offer(delivery(1)), lane.offer(delivery(2))];
    expect(first.withdraw()).toBe(false);
    expect(second.withdraw()).toBe(true);
    expect(await second.outcome).toEqual({ kind: 'waiting', delay: 0, error: null });
    await attempts[0]?.end(SUCCESS);
    expect(attempts).toHaveLength(1);
  });

  test('five failures in a row send what waits back until the pause is over; then one at a time', async () => {
    const { lane, attempts, phases, clock } = laneUnderTest({ perEndpoint: 1 });
    const tickets = [1, 2, 3, 4, 5, 6, 7].map((index) => lane.offer(delivery(index)));
    for (let n = 0; n < 5; n++) await attempts[n]?.end(FAILURE);
    expect(attempts).toHaveLength(5);
    expect(tickets.at(-1)?.settled).toEqual({ kind: 'waiting', delay: 5000, error: null });
    expect([lane.takesFromStream, lane.room, lane.phase]).toEqual([false, 0, 'open']);
    expect(lane.offer(delivery(8)).settled).toMatchObject({ kind: 'waiting' });
    clock.now = 5000;
    expect([lane.takesFromStream, lane.room, lane.phase]).toEqual([false, 1, 'half_open']);
    lane.offer(delivery(9));
    lane.offer(delivery(10));
    expect(attempts).toHaveLength(6);
    await attempts[5]?.end(SUCCESS);
    expect([lane.takesFromStream, lane.phase]).toEqual([true, 'closed']);
    expect(attempts).toHaveLength(7);
    expect(phases).toEqual(['open', 'closed']);
  });

  test('an answer that is final is a sign of life; a tenth failure is none', async () => {
    const { lane, attempts } = laneUnderTest({ perEndpoint: 10 });
    for (let index = 0; index < 10; index++) lane.offer(delivery(index));
    const dead = (isExhausted: boolean): Outcome => ({
      kind: 'dead',
      status: 400,
      error: 'x',
      isExhausted,
    });
    for (let n = 0; n < 4; n++) await attempts[n]?.end(dead(true));
    await attempts[4]?.end(dead(false));
    for (let n = 5; n < 9; n++) await attempts[n]?.end(dead(true));
    expect(lane.phase).toBe('closed');
    await attempts[9]?.end(dead(true));
    expect(lane.phase).toBe('open');
  });

  test('that was slow gets nothing from the stream until an attempt is quick; the queue goes on', async () => {
    const { lane, attempts, clock } = laneUnderTest();
    lane.offer(delivery(1));
    lane.foundSlow();
    expect([lane.takesFromStream, lane.room > 0]).toEqual([false, true]);
    clock.now = RELAY_LIMITS.patience + 1;
    await attempts[0]?.end(SUCCESS);
    expect(lane.takesFromStream).toBe(false);
    lane.offer(delivery(2));
    await attempts[1]?.end(SUCCESS);
    expect(lane.takesFromStream).toBe(true);
  });

  test('takes so many and no more', () => {
    const { lane } = laneUnderTest({ perEndpoint: 1, waiting: 3 });
    for (let index = 0; index < 4; index++) {
      expect(lane.takesFromStream).toBe(true);
      lane.offer(delivery(index));
    }
    expect(lane.takesFromStream).toBe(false);
  });

  test('whose secret is sealed takes nothing, and says for what its deliveries wait', () => {
    const { lane } = laneUnderTest();
    lane.update({ ...RELAY, secret: { kind: 'sealed', problem: 'waits: no key' } });
    expect([lane.takesFromStream, lane.room]).toEqual([false, 0]);
    expect(lane.waitsFor).toEqual({ kind: 'waiting', delay: 0, error: 'waits: no key' });
  });

  test('another URL is another endpoint: the breaker closes', async () => {
    const { lane, attempts } = laneUnderTest({ perEndpoint: 6 });
    for (let index = 0; index < 6; index++) lane.offer(delivery(index));
    for (let n = 0; n < 5; n++) await attempts[n]?.end(FAILURE);
    lane.update({ ...RELAY, url: 'https://b.example/' });
    expect(lane.phase).toBe('closed');
    // An attempt at the old one says nothing about the new one.
    await attempts[5]?.end(FAILURE);
    expect(lane.takesFromStream).toBe(true);
  });
});

describe('slots', () => {
  test('are shared by all lanes, and whoever found none is called up', async () => {
    const slots = new Slots(2);
    const [one, other] = [laneUnderTest({ slots }), laneUnderTest({ slots })];
    one.lane.offer(delivery(1));
    one.lane.offer(delivery(2));
    other.lane.offer(delivery(3));
    expect(other.attempts).toHaveLength(0);
    await one.attempts[0]?.end(SUCCESS);
    expect(other.attempts).toHaveLength(1);
    expect(slots.used).toBe(2);
  });

  test('endpoints in trouble get at most half of them', async () => {
    const slots = new Slots(4);
    const sick = laneUnderTest({ slots, perEndpoint: 4 });
    sick.lane.foundSlow();
    for (let index = 0; index < 4; index++) sick.lane.offer(delivery(index));
    expect(sick.attempts).toHaveLength(2);
    const well = laneUnderTest({ slots });
    well.lane.offer(delivery(9));
    expect(well.attempts).toHaveLength(1);
    await sick.attempts[0]?.end(FAILURE);
    expect(sick.attempts).toHaveLength(3);
  });
});
