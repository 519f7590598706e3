import pino from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { delay } from '../../platform/backoff.ts';
import { BEFORE_FIRST } from '../../schemas/log-position.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import { FirstAttempts } from './first-attempts.ts';
import { RELAY_LIMITS } from './limits.ts';
import { relayMetrics } from './metrics.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import { relayPartitionTask } from './partition-task.ts';
import { KEEP_EVERYTHING } from './testing/keep-everything.ts';
import { message, relay, row } from './testing/records.ts';
import { WakeSignal } from '../../platform/wake-signal.ts';

const EVENTS = 8000;
/** Every hundredth event is of the account whose endpoint may be slow. */
const SLOW_EVERY = 100;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/**
 * Virtual time until all events of a partition are complete, ms, and until each event of the
 * healthy account has arrived. Its four endpoints answer after 5 ms, the other one after `slowMs`.
 */
async function timesWith(slowMs: number): Promise<{ completed: number; arrived: number }> {
  const healthy = [1, 2, 3, 4].map((id) => relay(id));
  const other = relay(5, { accountId: 2 });
  const relays = new Map([
    [1, healthy],
    [2, [other]],
  ]);
  const [log, now, startedAt] = [pino({ level: 'silent' }), () => Date.now(), Date.now()];
  let arrived = 0;
  const queues = new EndpointQueues({
    limits: RELAY_LIMITS,
    concurrency: new ConcurrencyLimit(RELAY_LIMITS.attempts),
    attempt: async ({ id }) => {
      await delay(id === other.id ? slowMs : 5);
      if (id !== other.id) arrived = Date.now() - startedAt;
      return { kind: 'succeeded', status: 200 };
    },
    now,
    random: () => 0,
    onPhase: () => undefined,
  });
  queues.update([...healthy, other]);
  const { signal } = new AbortController();
  const metrics = relayMetrics(new Registry(), { phases: () => [], attemptsNow: () => 0 });
  const outcomes = new OutcomeWriter({
    ...{ store: { finish: () => delay(2) }, deliveryLog: KEEP_EVERYTHING, log, signal },
  });
  const firstAttempts = new FirstAttempts({
    ...{ queues, outcomes, metrics, limits: RELAY_LIMITS, wakeSignal: new WakeSignal() },
  });
  const task = await relayPartitionTask({
    store: {
      position: () => Promise.resolve(BEFORE_FIRST),
      complete: () => delay(2).then(() => new Map()),
    },
    definitions: { asOf: () => Promise.resolve(relays) },
    ...{ firstAttempts, deliveryLog: KEEP_EVERYTHING, metrics, limits: RELAY_LIMITS },
    ...{ log, partition: 2, signal },
  });
  let completed = 0;
  task.commitsLater?.({
    commit: () => (completed = Date.now() - startedAt),
    failed: expect.unreachable,
  });
  const consume = async () => {
    for (let first = 0; first < EVENTS; first += 400) {
      const rows = Array.from({ length: 400 }, (_, at) =>
        row(first + at, { account_id: (first + at) % SLOW_EVERY === 0 ? 2 : 1 }),
      );
      await task.process([message(first, rows)]);
    }
  };
  void consume();
  await vi.advanceTimersByTimeAsync(120_000);
  return { completed, arrived };
}

test('an endpoint that answers after 200 ms does not slow the other accounts of its partition (relays-panel 8)', async () => {
  const undisturbed = await timesWith(5);
  const disturbed = await timesWith(200);
  expect(disturbed.arrived).toBeLessThanOrEqual(1.5 * undisturbed.arrived);
  expect(disturbed.completed).toBeLessThanOrEqual(1.5 * undisturbed.completed);
});
