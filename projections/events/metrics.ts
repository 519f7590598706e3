import type { Registry } from 'prom-client';
import { metricsOf, type MetricName } from '../../platform/metrics.ts';

export interface SinkMetrics {
  /**
   * Rows that an insert stored, its bytes, how long it took (ms) and the age of its oldest row (ms
   * since the raw record was appended).
   */
  stored(report: { rows: number; bytes: number; duration: number; age: number }): void;
  /** A batch had to be read back. */
  recovered(): void;
  dead(events: number): void;
  /** Partitions that the circuit breaker holds back. */
  held(partitions: number): void;
}

export function sinkMetrics(registry: Registry): SinkMetrics {
  const metrics = metricsOf(registry);
  const rows = metrics.counter('ravand_sink_rows_total', 'Rows this process stored in ClickHouse.');
  const bytes = metrics.counter(
    'ravand_sink_bytes_total',
    'Bytes of the rows that this process inserted, as they are in the log.',
  );
  const recovered = metrics.counter(
    'ravand_sink_settled_total',
    'Batches read back from ClickHouse after an uncertain outcome or a change of owner.',
  );
  const dead = metrics.counter('ravand_sink_dead_total', 'Events sent to events.dead.');
  const breaker = metrics.gauge(
    'ravand_sink_breaker_open',
    'Partitions held back because ClickHouse would refuse most of their rows.',
  );
  const seconds = (name: MetricName, help: string) =>
    metrics.histogram(name, help, {
      buckets: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300],
    });
  const duration = seconds('ravand_sink_insert_seconds', 'Duration of storing one batch.');
  const age = seconds(
    'ravand_sink_visible_seconds',
    'Time from appending a raw record until its row is visible, of the oldest row of each batch.',
  );
  const size = metrics.histogram('ravand_sink_insert_rows', 'Rows of one insert.', {
    buckets: [1, 10, 100, 300, 1000, 3000, 10_000, 30_000, 100_000],
  });
  return {
    stored(report) {
      rows.inc(report.rows);
      bytes.inc(report.bytes);
      duration.observe(report.duration / 1000);
      age.observe(report.age / 1000);
      size.observe(report.rows);
    },
    recovered: () => recovered.inc(),
    dead: (events) => dead.inc(events),
    held: (partitions) => breaker.set(partitions),
  };
}
