import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { PartitionLag } from './consumer-types.ts';
import type { BatchReport } from './partition-worker.ts';

export interface ConsumerMetrics {
  processed(partition: number, report: BatchReport): void;
  commitFailed(): void;
}

type Registered = ReturnType<typeof register>;

/**
 * A process may read several topics: they share the metrics, distinguished by the label `topic`.
 */
const registered = new WeakMap<Registry, Registered>();

/** Lag, batch sizes and durations of one consumer. Without a registry nothing is recorded. */
export function consumerMetrics(options: {
  registry: Registry | undefined;
  topic: string;
  lag: () => PartitionLag[];
}): ConsumerMetrics {
  const { registry, topic } = options;
  if (!registry) return { processed: () => undefined, commitFailed: () => undefined };
  const metrics = registered.get(registry) ?? register(registry);
  registered.set(registry, metrics);
  metrics.lags.set(topic, options.lag);
  return {
    processed(partition, report) {
      metrics.records.inc({ topic, partition }, report.records);
      metrics.bytes.inc({ topic, partition }, report.bytes);
      metrics.duration.observe({ topic }, report.durationMs / 1000);
      metrics.size.observe({ topic }, report.records);
    },
    commitFailed: () => metrics.failures.inc(),
  };
}

function register(registry: Registry) {
  const registers = [registry];
  const labelNames = ['topic', 'partition'] as const;
  const lags = new Map<string, () => PartitionLag[]>();
  const lagGauge = (name: string, help: string, value: (lag: PartitionLag) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [topic, read] of lags)
          for (const lag of read()) this.set({ topic, partition: lag.partition }, value(lag));
      },
    });
  lagGauge('ravand_consumer_lag_records', 'Records not committed yet.', ({ records }) => records);
  lagGauge(
    'ravand_consumer_lag_seconds',
    'Age of the oldest fetched record that is not committed yet.',
    ({ age }) => age / 1000,
  );
  return {
    lags,
    records: new Counter({
      name: 'ravand_consumer_records_total',
      help: 'Records processed.',
      labelNames,
      registers,
    }),
    bytes: new Counter({
      name: 'ravand_consumer_bytes_total',
      help: 'Bytes of records processed.',
      labelNames,
      registers,
    }),
    failures: new Counter({
      name: 'ravand_consumer_commit_failures_total',
      help: 'Offset commits that failed and are retried.',
      registers,
    }),
    duration: new Histogram({
      name: 'ravand_consumer_take_seconds',
      help: 'Time to process one batch, until its effects are durable.',
      labelNames: ['topic'] as const,
      buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30],
      registers,
    }),
    size: new Histogram({
      name: 'ravand_consumer_take_records',
      help: 'Records per batch.',
      labelNames: ['topic'] as const,
      buckets: [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000],
      registers,
    }),
  };
}
