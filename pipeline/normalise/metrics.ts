import { Registry } from 'prom-client';
import type { Outcome } from '../../events/raw/decide.ts';
import { collectProcessMetrics, metricsOf } from '../../platform/metrics.ts';
import type { NormalisedChunk } from './normalise-chunk.ts';

const OUTCOMES: readonly Outcome[] = [
  ...(['published', 'replayed', 'duplicate', 'repeat', 'dead', 'erased'] as const),
];

/** Metrics of the normaliser. */
export class NormaliserMetrics {
  readonly registry = new Registry();
  readonly #metrics = metricsOf(this.registry);
  readonly #events = this.#metrics.counter(
    'ravand_normaliser_events_total',
    'Events of events.raw by outcome: published, replayed (published again after a crash), duplicate, repeat (the same acceptance again), dead, erased (read again after its person was erased).',
    'outcome',
  );
  readonly #deadLetters = this.#metrics.counter(
    'ravand_normaliser_dead_letters_total',
    'Dead letters written to events.dead, by reason.',
    'reason',
  );
  readonly #bytes = this.#metrics.counter(
    'ravand_normaliser_published_bytes_total',
    'Bytes published to events.normalised.',
  );
  readonly #rows = this.#metrics.histogram(
    'ravand_normaliser_run_rows',
    'Rows in one record of events.normalised.',
    { buckets: [1, 10, 100, 500, 1000] },
  );
  readonly breaker = this.#metrics.gauge(
    'ravand_normaliser_breaker_open',
    'Partitions held back because most of their events would become dead letters.',
  );
  readonly layoutMismatch = this.#metrics.gauge(
    'ravand_normaliser_layout_mismatch',
    '1 while Kafka has another number of partitions than ./ravand log grow recorded: partitions beyond it are not processed.',
  );
  readonly claimsLoaded = this.#metrics.gauge(
    'ravand_normaliser_claims_filled',
    '1 while Redis is known to hold the claims of the dedupe window, 0 while the normaliser waits for them.',
  );
  readonly backfilledClaims = this.#metrics.counter(
    'ravand_normaliser_refilled_claims_total',
    'Claims that this process backfilled: from the log what Redis lost at its end, from the warehouse the whole window.',
    'from',
  );
  readonly packedClaims = this.#metrics.counter(
    'ravand_normaliser_packed_claims_total',
    'Claims of stored events that this process packed (docs/deduplication.md).',
  );
  readonly askedClaims = this.#metrics.counter(
    'ravand_normaliser_asked_claims_total',
    'Events with a packed claim for which ClickHouse was asked: row, or none is stored.',
    'answer',
  );

  constructor() {
    collectProcessMetrics(this.registry);
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
