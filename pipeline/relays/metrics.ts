import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { BreakerPhase } from './breaker.ts';

export interface RelayMetrics {
  matched(deliveries: number): void;
  /** `ms` is the time of the attempt. */
  attempted(result: 'succeeded' | 'retry' | 'dead', ms: number): void;
  queued(reason: 'waiting' | 'retry' | 'in_hand', deliveries: number): void;
  unreadable(): void;
  /** Rows of the queue; those that are due; age of the oldest due one, ms. */
  queue(depth: { pending: number; due: number; oldest: number }): void;
}

/** Metrics of deliveries; what is read when somebody asks comes from `look`. */
export function relayMetrics(
  registry: Registry,
  look: { phases(): Iterable<BreakerPhase>; attemptsNow(): number },
): RelayMetrics {
  const registers = [registry];
  const matched = new Counter({
    name: 'ravand_relay_matched_total',
    help: 'Deliveries that the stream asked for: an event times a relay.',
    registers,
  });
  const attempts = new Counter({
    name: 'ravand_relay_attempts_total',
    help: 'Requests to endpoints, by what came of them: succeeded, retry (tried again later), dead (permanent).',
    labelNames: ['result'] as const,
    registers,
  });
  const seconds = new Histogram({
    name: 'ravand_relay_attempt_seconds',
    help: 'Time of one request to an endpoint.',
    labelNames: ['result'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  });
  const queued = new Counter({
    name: 'ravand_relay_queued_total',
    help: 'Deliveries that went from the stream to the queue: waiting (endpoint slow, failing or full), retry (first attempt failed), in_hand (an attempt goes on).',
    labelNames: ['reason'] as const,
    registers,
  });
  const unreadable = new Counter({
    name: 'ravand_relay_unreadable_total',
    help: 'Records that cannot be read and are not delivered.',
    registers,
  });
  const rows = new Gauge({
    name: 'ravand_relay_queue_rows',
    help: 'Deliveries that are pending in the queue.',
    labelNames: ['state'] as const,
    registers,
  });
  const oldest = new Gauge({
    name: 'ravand_relay_queue_oldest_seconds',
    help: 'How long the oldest due delivery has been due.',
    registers,
  });
  new Gauge({
    name: 'ravand_relay_breakers',
    help: 'Endpoints by the phase of their breaker.',
    labelNames: ['phase'] as const,
    registers,
    collect() {
      const counts: Record<BreakerPhase, number> = { closed: 0, open: 0, half_open: 0 };
      for (const phase of look.phases()) counts[phase]++;
      for (const [phase, count] of Object.entries(counts)) this.set({ phase }, count);
    },
  });
  new Gauge({
    name: 'ravand_relay_attempts_now',
    help: 'Requests to endpoints that go on now.',
    registers,
    collect() {
      this.set(look.attemptsNow());
    },
  });
  for (const result of ['succeeded', 'retry', 'dead'] as const) attempts.inc({ result }, 0);
  for (const reason of ['waiting', 'retry', 'in_hand'] as const) queued.inc({ reason }, 0);
  return {
    matched: (deliveries) => matched.inc(deliveries),
    attempted(result, ms) {
      attempts.inc({ result });
      seconds.observe({ result }, ms / 1000);
    },
    queued: (reason, deliveries) => queued.inc({ reason }, deliveries),
    unreadable: () => unreadable.inc(),
    queue(depth) {
      rows.set({ state: 'pending' }, depth.pending);
      rows.set({ state: 'due' }, depth.due);
      oldest.set(depth.oldest / 1000);
    },
  };
}
