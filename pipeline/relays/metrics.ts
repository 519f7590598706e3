import type { Registry } from 'prom-client';
import { metricsOf } from '../../platform/metrics.ts';
import type { BreakerPhase } from '../../platform/breaker.ts';
import type { Size } from './queue-bounds.ts';

export interface RelayMetrics {
  matched(deliveries: number): void;
  /** @param ms duration of the attempt */
  attempted(result: 'succeeded' | 'retry' | 'dead', ms: number): void;
  queued(kind: keyof typeof QUEUED_REASON, deliveries: number): void;
  unreadable(): void;
  /** Deliveries that became dead without or despite attempts left. */
  givenUp(reason: GivenUpReason, deliveries: number): void;
  /** Dead deliveries that are only counted: the dead log of their relay or account is full. */
  notKept(deliveries: number): void;
  /** Stored deliveries, due rows, and since when the oldest is due, ms. */
  queue(depth: { pending: Size; dead: Size; due: number; oldest: number }): void;
}

/** Why a delivery is dead although it has attempts left. */
const GIVEN_UP_REASONS = ['unsendable', 'queue_full', 'expired'] as const;
type GivenUpReason = (typeof GIVEN_UP_REASONS)[number];

/** Values of the label `reason`. */
const QUEUED_REASON = { waiting: 'waiting', retry: 'retry', in_flight: 'in_hand' } as const;

/** Metrics of deliveries; gauges are read through `probe` when they are scraped. */
export function relayMetrics(
  registry: Registry,
  probe: { phases(): Iterable<BreakerPhase>; attemptsNow(): number },
): RelayMetrics {
  const metrics = metricsOf(registry);
  const matched = metrics.counter(
    'ravand_relay_matched_total',
    'Deliveries that the stream matched: one for each event and relay.',
  );
  const attempts = metrics.counter(
    'ravand_relay_attempts_total',
    'Requests to endpoints by result: succeeded, retry (attempted again later), dead (permanent failure).',
    'result',
  );
  const seconds = metrics.histogram(
    'ravand_relay_attempt_seconds',
    'Duration of a request to an endpoint.',
    { buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15], labels: ['result'] },
  );
  const queued = metrics.counter(
    'ravand_relay_queued_total',
    'Deliveries that went from the stream to the queue: waiting (endpoint slow, failing or at its limit), retry (first attempt failed), in_hand (attempt in flight).',
    'reason',
  );
  const unreadable = metrics.counter(
    'ravand_relay_unreadable_total',
    'Records that cannot be decoded and are not delivered.',
  );
  const givenUp = metrics.counter(
    'ravand_relay_given_up_total',
    'Deliveries that are dead although they had attempts left: unsendable (cannot be built or stored), queue_full (the queue of the relay or account is at its limit), expired (pending for too long).',
    'reason',
  );
  const notKept = metrics.counter(
    'ravand_relay_not_kept_total',
    'Dead deliveries that are counted but not stored, because their relay or account has too many.',
  );
  const rows = metrics.gauge(
    'ravand_relay_queue_rows',
    'Stored deliveries: pending, due (of them; at most 1,000 of each relay are counted), dead.',
    'state',
  );
  const bytes = metrics.gauge(
    'ravand_relay_queue_bytes',
    'Bodies of stored deliveries: pending, dead.',
    'state',
  );
  const oldest = metrics.gauge(
    'ravand_relay_queue_oldest_seconds',
    'Time since the oldest due delivery became due.',
  );
  metrics.collected('ravand_relay_breakers', 'Endpoints by the phase of their circuit breaker.', {
    labels: ['phase'],
    collect(gauge) {
      const counts: Record<BreakerPhase, number> = { closed: 0, open: 0, half_open: 0 };
      for (const phase of probe.phases()) counts[phase]++;
      for (const [phase, count] of Object.entries(counts)) gauge.set({ phase }, count);
    },
  });
  metrics.collected('ravand_relay_attempts_now', 'Requests to endpoints in flight.', {
    collect: (gauge) => gauge.set(probe.attemptsNow()),
  });
  for (const result of ['succeeded', 'retry', 'dead'] as const) attempts.inc({ result }, 0);
  for (const reason of GIVEN_UP_REASONS) givenUp.inc({ reason }, 0);
  for (const reason of Object.values(QUEUED_REASON)) queued.inc({ reason }, 0);
  return {
    matched: (deliveries) => matched.inc(deliveries),
    attempted(result, ms) {
      attempts.inc({ result });
      seconds.observe({ result }, ms / 1000);
    },
    queued: (kind, deliveries) => queued.inc({ reason: QUEUED_REASON[kind] }, deliveries),
    unreadable: () => unreadable.inc(),
    givenUp: (reason, deliveries) => givenUp.inc({ reason }, deliveries),
    notKept: (deliveries) => notKept.inc(deliveries),
    queue(depth) {
      for (const state of ['pending', 'dead'] as const) {
        rows.set({ state }, depth[state].rows);
        bytes.set({ state }, depth[state].bytes);
      }
      rows.set({ state: 'due' }, depth.due);
      oldest.set(depth.oldest / 1000);
    },
  };
}
