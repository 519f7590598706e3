import type { Registry } from 'prom-client';
import type { MetricName } from '../../platform/metrics.ts';

interface Value {
  labels: Record<string, string | number>;
  value: number;
  metricName: string;
}

/** The counts of one combination of labels. */
export class LatencyCounts {
  readonly #bounds: readonly number[];
  /** By bucket, not cumulative; the last one has no bound. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(seconds: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket++;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += seconds;
  }
}

/**
 * A histogram for the hot path: prom-client's own costs several times more, most of it for the
 * look-up of labels. Callers keep the counts of their labels. The registry reads it like any other
 * metric.
 */
export class Latency {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #bounds: readonly number[];
  readonly #all: { labels: Value['labels']; of: LatencyCounts }[] = [];

  /** @param options `bounds` of the buckets in seconds */
  constructor(options: {
    name: MetricName;
    help: string;
    bounds: readonly number[];
    registry: Registry;
  }) {
    this.name = options.name;
    this.help = options.help;
    this.#bounds = options.bounds;
    options.registry.registerMetric(this as unknown as Parameters<Registry['registerMetric']>[0]);
  }

  /** Counts with these labels; each combination is asked for once. */
  with(labels: Record<string, string>): LatencyCounts {
    const of = new LatencyCounts(this.#bounds);
    this.#all.push({ labels, of });
    return of;
  }

  get(): Promise<{
    name: string;
    help: string;
    type: string;
    aggregator: string;
    values: Value[];
  }> {
    const { name, help, type, aggregator } = this;
    const values = this.#all.flatMap(({ labels, of }): Value[] => {
      let total = 0;
      const buckets = of.counts.map((count, bucket) => {
        total += count;
        return {
          labels: { ...labels, le: this.#bounds[bucket] ?? '+Inf' },
          value: total,
          metricName: `${name}_bucket`,
        };
      });
      return [
        ...buckets,
        { labels, value: of.sum, metricName: `${name}_sum` },
        { labels, value: total, metricName: `${name}_count` },
      ];
    });
    return Promise.resolve({ name, help, type, aggregator, values });
  }
}
