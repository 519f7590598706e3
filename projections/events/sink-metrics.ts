import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface SinkMetrics {
  /**
   * Rows that an insert stored, its bytes, how long it took (ms) and the age of its oldest row (ms
   * since the log took its raw record).
   */
  stored(report: { rows: number; bytes: number; took: number; age: number }): void;
  /** Batches whose outcome had to be read back. */
  settled(): void;
  dead(events: number): void;
  /** Partitions that the breaker holds back. */
  held(partitions: number): void;
}

export function sinkMetrics(registry: Registry): SinkMetrics {
  const registers = [registry];
  const rows = new Counter({
    name: 'ravand_sink_rows_total',
    help: 'Rows stored in ClickHouse by this process.',
    registers,
  });
  const bytes = new Counter({
    name: 'ravand_sink_bytes_total',
    help: 'Bytes of Avro inserted.',
    registers,
  });
  const settled = new Counter({
    name: 'ravand_sink_settled_total',
    help: 'Batches that were read back after an uncertain outcome or a takeover.',
    registers,
  });
  const dead = new Counter({
    name: 'ravand_sink_dead_total',
    help: 'Events that went to events.dead.',
    registers,
  });
  const breaker = new Gauge({
    name: 'ravand_sink_breaker_open',
    help: 'Partitions held back because ClickHouse would refuse most of their rows.',
    registers,
  });
  const buckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300];
  const took = new Histogram({
    name: 'ravand_sink_insert_seconds',
    help: 'Time of storing one batch.',
    buckets,
    registers,
  });
  const age = new Histogram({
    name: 'ravand_sink_visible_seconds',
    help: 'Time from the raw record being in the log to its row being visible, of the oldest row of each batch.',
    buckets,
    registers,
  });
  const size = new Histogram({
    name: 'ravand_sink_insert_rows',
    help: 'Rows of one insert.',
    buckets: [1, 10, 100, 300, 1000, 3000, 10_000, 30_000, 100_000],
    registers,
  });
  return {
    stored(report) {
      rows.inc(report.rows);
      bytes.inc(report.bytes);
      took.observe(report.took / 1000);
      age.observe(report.age / 1000);
      size.observe(report.rows);
    },
    settled: () => settled.inc(),
    dead: (events) => dead.inc(events),
    held: (partitions) => breaker.set(partitions),
  };
}
