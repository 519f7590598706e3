import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { IN_FLIGHT, WAITING, type Delivery, type Outcome } from './delivery.ts';
import { DeliveryLog } from './delivery-log.ts';
import { relayMetrics } from './metrics.ts';
import type { RelayQueue } from './queue-bounds.ts';

const SUCCESS: Outcome = { kind: 'succeeded', status: 200 };
const RETRY: Outcome = { kind: 'retry', status: 503, error: 'down', delay: 10_000 };
const DEAD: Outcome = { kind: 'dead', status: 410, error: 'gone', isExhausted: false };
const DELIVERY: Delivery = {
  ...{ relayId: 1, accountId: 1, messageId: 'm', event: 'e', payload: '{}', attempts: 0 },
  position: { epoch: 0, partition: 0, offset: 0, index: 0 },
};

async function logUnderTest(queues: RelayQueue[] = []) {
  const reads = { count: 0 };
  const clock = { now: 10_000 };
  const registry = new Registry();
  const log = new DeliveryLog({
    store: { queues: () => (reads.count++, Promise.resolve(queues)) },
    metrics: relayMetrics(registry, { phases: () => [], attemptsNow: () => 0 }),
    limits: { loggedPerRelay: 2, logged: 100 },
    bounds: { rows: 4, bytes: 1000 },
    now: () => clock.now,
  });
  await log.refresh();
  const outcomeOf = (outcome: Outcome | typeof IN_FLIGHT) =>
    log.ofStream({ delivery: DELIVERY, outcome });
  return { log, reads, clock, registry, outcomeOf };
}

describe('the delivery log', () => {
  test('ends new deliveries of a relay whose queue is full, with the reason', async () => {
    const { outcomeOf, registry } = await logUnderTest();
    expect([WAITING, RETRY].map((outcome) => outcomeOf(outcome).outcome)).toEqual([WAITING, RETRY]);
    expect(outcomeOf(WAITING)).toMatchObject({
      outcome: { kind: 'given_up', status: null, isAttempt: false },
      isKept: true,
    });
    const { outcome } = outcomeOf(RETRY);
    expect(outcome).toEqual({
      ...{ kind: 'given_up', status: 503, isAttempt: true },
      error:
        'queue_full: too many deliveries of this relay or account wait; the first attempt: down',
    });
    const metrics = await registry.metrics();
    expect(metrics).toContain('ravand_relay_given_up_total{reason="queue_full"} 2');
  });

  test('only counts dead deliveries when a relay has too many', async () => {
    const { outcomeOf, log, registry } = await logUnderTest();
    expect([1, 2, 3].map(() => outcomeOf(DEAD).isKept)).toEqual([true, true, false]);
    expect([log.keeps(DELIVERY, DEAD), log.keeps(DELIVERY, RETRY)]).toEqual([false, true]);
    expect(log.keepsDead(DELIVERY)).toBe(false);
    expect(log.keepsDead({ relayId: 9, accountId: 9 })).toBe(true);
    expect(await registry.metrics()).toContain('ravand_relay_not_kept_total 2');
  });

  test('keeps attempts in flight, and counts them as pending', async () => {
    const { outcomeOf } = await logUnderTest();
    for (let n = 0; n < 3; n++) expect(outcomeOf(IN_FLIGHT).outcome).toBe(IN_FLIGHT);
    expect(outcomeOf(WAITING).outcome.kind).toBe('given_up');
  });

  test('logs successes up to a rate, those of the queue included', async () => {
    const { outcomeOf, log, clock } = await logUnderTest();
    expect([outcomeOf(SUCCESS).isKept, log.keeps(DELIVERY, SUCCESS)]).toEqual([true, true]);
    expect([outcomeOf(SUCCESS).isKept, log.keeps(DELIVERY, SUCCESS)]).toEqual([false, false]);
    clock.now += 1000;
    expect(outcomeOf(SUCCESS).isKept).toBe(true);
  });

  test('reads the counts at most once a second', async () => {
    const { log, reads, clock } = await logUnderTest();
    await log.refresh();
    expect(reads.count).toBe(1);
    clock.now += 1000;
    await Promise.all([log.refresh(), log.refresh()]);
    expect(reads.count).toBe(2);
  });
});
