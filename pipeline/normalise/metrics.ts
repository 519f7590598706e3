import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { NormalisedChunk } from './normalise-chunk.ts';
import { OUTCOMES } from './tally.ts';

/** What the normaliser tells Prometheus. */
export class NormaliserMetrics {
  readonly registry = new Registry();
  readonly #events = new Counter({
    name: 'ravand_normaliser_events_total',
    help: 'Events of events.raw by what became of them: published, replayed (published once more after a crash), duplicate, repeat (the same acceptance again), dead.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });
  readonly #letters = new Counter({
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
    help: 'Partitions held back because most of their events would end as dead letters.',
    registers: [this.registry],
  });
  readonly filled = new Gauge({
    name: 'ravand_normaliser_claims_filled',
    help: '1 while Redis is known to hold the claims of the window, 0 while the normaliser waits for them.',
    registers: [this.registry],
  });
  readonly refilled = new Counter({
    name: 'ravand_normaliser_refilled_claims_total',
    help: 'Claims filled in again from stored events by this process.',
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    for (const outcome of OUTCOMES) this.#events.inc({ outcome }, 0);
  }

  /** Counts a part that is in the log for good. */
  count({ counts: tally, deadLetters: letters, rowBatches: runs }: NormalisedChunk): void {
    for (const outcome of OUTCOMES) this.#events.inc({ outcome }, tally[outcome]);
    for (const { reason } of letters) this.#letters.inc({ reason });
    for (const { rows, value } of runs) {
      this.#rows.observe(rows);
      this.#bytes.inc(value.length);
    }
  }
}
