import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { Delivery, Outcome } from './delivery.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import { RELAY_LIMITS } from './limits.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import type { Relay } from './relay.ts';
import { retryLoop } from './retry-loop.ts';
import { KEEP_EVERYTHING } from './testing/keep-everything.ts';
import { QueueModel } from './testing/queue-model.ts';
import { WakeSignal } from '../../platform/wake-signal.ts';

/** ms of virtual time */
const DURATION_MS = 30_000;
/** Rows in the queue of each endpoint of the hostile account at the start. */
const ROWS = 200;
const HEALTHY = { accountId: 2, relayId: 1000 };
const HOSTILE_ACCOUNT = 1;
const SUCCESS: Outcome = { kind: 'succeeded', status: 200 };
const TIMED_OUT: Outcome = { kind: 'retry', status: null, error: 'no answer', delay: 10_000 };

/** Endpoints of the hostile account: their number, and how each attempt goes. */
interface Hostile {
  endpoints: number;
  ms: number;
  outcome: Outcome;
}

function relay(id: number, accountId: number): Relay {
  const url = `https://r${id}.example/`;
  return { id, accountId, url, secret: { kind: 'none' }, matches: () => true };
}

function delivery(relayId: number, accountId: number, messageId: string): Delivery {
  const position = { epoch: 0, partition: 0, offset: 0, index: 0 };
  return { relayId, accountId, position, messageId, event: 'e', payload: '{}', attempts: 1 };
}

/** A generator of numbers in [0, 1) from a seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Runs the retry loop for 30 seconds of virtual time. Rows of the healthy endpoint become due about
 * every 50 ms; answers how long each waited until it was delivered, ms, at the 99th percentile.
 */
async function p99OfHealthy(hostile: Hostile | undefined): Promise<number> {
  const random = seeded(7);
  vi.spyOn(Math, 'random').mockImplementation(random);
  const log = pino({ level: 'silent' });
  const stop = new AbortController();
  const model = new QueueModel({ statementMs: 2 });
  const waits: number[] = [];
  const dueAt = new Map<string, number>();
  const attempt = async (to: Relay, { messageId }: Delivery): Promise<Outcome> => {
    const isHealthy = to.id === HEALTHY.relayId;
    const ms = isHealthy ? 5 + 20 * random() : (hostile?.ms ?? 0);
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (!isHealthy) return hostile?.outcome ?? SUCCESS;
    waits.push(Date.now() - (dueAt.get(messageId) ?? 0));
    return SUCCESS;
  };
  const concurrency = new ConcurrencyLimit(RELAY_LIMITS.attempts);
  const now = () => Date.now();
  const queues = new EndpointQueues({
    ...{ limits: RELAY_LIMITS, concurrency, attempt, now, random, onPhase: () => undefined },
  });
  const hostileRelays = Array.from({ length: hostile?.endpoints ?? 0 }, (_, at) =>
    relay(at + 1, HOSTILE_ACCOUNT),
  );
  queues.update([...hostileRelays, relay(HEALTHY.relayId, HEALTHY.accountId)]);
  const outcomes = new OutcomeWriter({
    ...{ store: model, deliveryLog: KEEP_EVERYTHING, log },
    signal: stop.signal,
  });
  const wakeSignal = new WakeSignal();
  const definitions = { asOf: () => Promise.resolve(new Map<number, Relay[]>()) };
  for (const { id } of hostileRelays)
    for (let row = 0; row < ROWS; row++)
      model.add(delivery(id, HOSTILE_ACCOUNT, `h${id}-${row}`), 0);
  const running = retryLoop({
    ...{ store: model, definitions, queues, outcomes, concurrency, limits: RELAY_LIMITS },
    ...{ log, now, wakeSignal, signal: stop.signal },
  });
  for (let at = 0, n = 0; at < DURATION_MS; n++) {
    dueAt.set(`m${n}`, Date.now());
    model.add(delivery(HEALTHY.relayId, HEALTHY.accountId, `m${n}`));
    const pause = Math.ceil(100 * random());
    at += pause;
    await vi.advanceTimersByTimeAsync(pause);
  }
  await vi.advanceTimersByTimeAsync(5000);
  stop.abort(new Error('over'));
  await vi.advanceTimersByTimeAsync(1000);
  await running;
  expect(waits).toHaveLength(dueAt.size);
  return waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? 0;
}

describe('rows of a healthy endpoint', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  test.each([
    ['90 endpoints that answer after ten seconds', { endpoints: 90, ms: 10_000, outcome: SUCCESS }],
    ['90 endpoints that never answer', { endpoints: 90, ms: 15_000, outcome: TIMED_OUT }],
    ['90 endpoints that answer after 400 ms', { endpoints: 90, ms: 400, outcome: SUCCESS }],
    ['90 quick endpoints with a long queue', { endpoints: 90, ms: 20, outcome: SUCCESS }],
  ])('wait at most three times as long while another account has %s', async (_, hostile) => {
    const undisturbed = await p99OfHealthy(undefined);
    expect(await p99OfHealthy(hostile)).toBeLessThanOrEqual(3 * undisturbed);
  });
});
