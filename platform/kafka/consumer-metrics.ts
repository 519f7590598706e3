import type { Registry } from 'prom-client';
import { metricsOf, type MetricName } from '../metrics.ts';
import type { PartitionLag } from './consumer-types.ts';
import type { BatchReport } from './partition-worker.ts';

export interface ConsumerMetrics {
  processed(partition: number, report: BatchReport): void;
  /** Records that left the topic before they were processed. */
  missed(partition: number, records: number): void;
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
  /** Partitions that wait for a release that knows a schema. */
  unknownSchemas: () => { partition: number }[];
  /** Partitions that are not processed because their log went back. */
  refused: () => number[];
}): ConsumerMetrics {
  const { registry, topic } = options;
  const nothing = () => undefined;
  if (!registry) return { processed: nothing, missed: nothing, commitFailed: nothing };
  const metrics = registered.get(registry) ?? register(registry);
  registered.set(registry, metrics);
  metrics.lags.set(topic, options.lag);
  metrics.unknownSchemas.set(topic, options.unknownSchemas);
  metrics.refused.set(topic, options.refused);
  return {
    processed(partition, report) {
      metrics.records.inc({ topic, partition }, report.records);
      metrics.bytes.inc({ topic, partition }, report.bytes);
      metrics.duration.observe({ topic }, report.durationMs / 1000);
      metrics.size.observe({ topic }, report.records);
    },
    missed: (partition, records) => metrics.missed.inc({ topic, partition }, records),
    commitFailed: () => metrics.failures.inc(),
  };
}

function register(registry: Registry) {
  const metrics = metricsOf(registry);
  const lags = new Map<string, () => PartitionLag[]>();
  const refused = new Map<string, () => number[]>();
  metrics.collected(
    'ravand_log_went_back',
    '1 for a partition that is not processed because its log went back: ./ravand log advance-epoch.',
    {
      labels: ['topic', 'partition'],
      collect(gauge) {
        gauge.reset();
        for (const [topic, read] of refused)
          for (const partition of read()) gauge.set({ topic, partition }, 1);
      },
    },
  );
  const lagGauge = (name: MetricName, help: string, value: (lag: PartitionLag) => number) =>
    metrics.collected(name, help, {
      labels: ['topic', 'partition'],
      collect(gauge) {
        gauge.reset();
        for (const [topic, read] of lags)
          for (const lag of read()) gauge.set({ topic, partition: lag.partition }, value(lag));
      },
    });
  lagGauge('ravand_consumer_lag_records', 'Records not committed yet.', ({ records }) => records);
  lagGauge(
    'ravand_consumer_lag_seconds',
    'Age of the oldest fetched record that is not committed yet.',
    ({ age }) => age / 1000,
  );
  const unknownSchemas = new Map<string, () => { partition: number }[]>();
  metrics.collected(
    'ravand_consumer_unknown_schema',
    'Partitions that wait: a newer release wrote their next record. Must be absent.',
    {
      labels: ['topic', 'partition'],
      collect(gauge) {
        gauge.reset();
        for (const [topic, read] of unknownSchemas)
          for (const { partition } of read()) gauge.set({ topic, partition }, 1);
      },
    },
  );
  const counter = (name: MetricName, help: string) =>
    metrics.counter(name, help, 'topic', 'partition');
  return {
    lags,
    unknownSchemas,
    refused,
    records: counter('ravand_consumer_records_total', 'Records processed.'),
    bytes: counter('ravand_consumer_bytes_total', 'Bytes of records processed.'),
    missed: counter(
      'ravand_consumer_missed_records_total',
      'Records that left the topic before they were processed: their effects are missing. Must be 0.',
    ),
    failures: metrics.counter(
      'ravand_consumer_commit_failures_total',
      'Offset commits that failed and are retried.',
    ),
    duration: metrics.histogram(
      'ravand_consumer_take_seconds',
      'Time to process one batch, until its effects are durable.',
      {
        labels: ['topic'],
        buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30],
      },
    ),
    size: metrics.histogram('ravand_consumer_take_records', 'Records per batch.', {
      labels: ['topic'],
      buckets: [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000],
    }),
  };
}
