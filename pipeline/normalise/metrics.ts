import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Outcome } from '../../events/raw/decide.ts';
import type { NormalisedChunk } from './normalise-chunk.ts';

const OUTCOMES: readonly Outcome[] = ['published', 'replayed', 'duplicate', 'repeat', 'dead'];

/** Metrics of the normaliser. */
export class NormaliserMetrics {
  readonly registry = new Registry();
  readonly #events = new Counter({
    name: 'ravand_normaliser_events_total',
    help: 'Events of events.raw by outcome: published, replayed (published again after a crash), duplicate, repeat (the same acceptance again), dead.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });
  readonly #deadLetters = new Counter({
    name: 'ravand_normaliser_dead_letters_total',
    help: 'Dead letters written to events.dead, by reason.',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #bytes = new Counter({
    name: 'ravand_normaliser_published_bytes_total',
    help: 'Bytes published to events.normalised.',
    registers: [this.registry],
  });
  readonly #rows = new Histogram({
    name: 'ravand_normaliser_run_rows',
    help: 'Rows in one record of events.normalised.',
    buckets: [1, 10, 100, 500, 1000],
    registers: [this.registry],
  });
  readonly breaker = new Gauge({
    name: 'ravand_normaliser_breaker_open',
    help: 'Partitions held back because most of their events would become dead letters.',
    registers: [this.registry],
  });
  readonly claimsLoaded = new Gauge({
    name: 'ravand_normaliser_claims_filled',
    help: '1 while Redis is known to hold the claims of the dedupe window, 0 while the normaliser waits for them.',
    registers: [this.registry],
  });
  readonly backfilledClaims = new Counter({
    name: 'ravand_normaliser_refilled_claims_total',
    help: 'Claims that this process backfilled from stored events.',
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    for (const outcome of OUTCOMES) this.#events.inc({ outcome }, 0);
  }

  /** Counts a chunk that Kafka has acknowledged. */
  count({ counts, deadLetters, rowBatches }: NormalisedChunk): void {
    for (const outcome of OUTCOMES) this.#events.inc({ outcome }, counts[outcome]);
    for (const { reason } of deadLetters) this.#deadLetters.inc({ reason });
    for (const { rows, value } of rowBatches) {
      this.#rows.observe(rows);
      this.#bytes.inc(value.length);
    }
  }
}
