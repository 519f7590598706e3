import type { Registry } from 'prom-client';

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 3];

interface Value {
  labels: Record<string, string | number>;
  value: number;
  metricName: string;
}

/**
 * A histogram without labels for the hot path: prom-client's own costs several times more. The
 * registry reads it like any other metric.
 */
export class Latency {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #counts = new Array<number>(BOUNDS.length + 1).fill(0);
  #sum = 0;

  constructor({ name, help, registry }: { name: string; help: string; registry: Registry }) {
    this.name = name;
    this.help = help;
    registry.registerMetric(this as unknown as Parameters<Registry['registerMetric']>[0]);
  }

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] ?? 0)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += seconds;
  }

  get(): Promise<{
    name: string;
    help: string;
    type: string;
    aggregator: string;
    values: Value[];
  }> {
    let total = 0;
    const values: Value[] = this.#counts.map((count, bucket) => {
      total += count;
      return {
        labels: { le: BOUNDS[bucket] ?? '+Inf' },
        value: total,
        metricName: `${this.name}_bucket`,
      };
    });
    values.push(
      { labels: {}, value: this.#sum, metricName: `${this.name}_sum` },
      { labels: {}, value: total, metricName: `${this.name}_count` },
    );
    return Promise.resolve({
      name: this.name,
      help: this.help,
      type: this.type,
      aggregator: this.aggregator,
      values,
    });
  }
}
