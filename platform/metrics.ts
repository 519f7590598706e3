import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from 'prom-client';

/**
 * A timer measures the event loop, and is a large part of what an idle process does.
 * `ravand_nodejs_eventloop_lag_*` include this interval, ms; a shorter delay is seen in part.
 */
const EVENT_LOOP_INTERVAL = 2000;

const PREFIX = 'ravand_';

/** Every metric of every service begins so. */
export type MetricName = `${typeof PREFIX}${string}`;

/** Registers the metrics of the process itself: memory, CPU time, event loop. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({
    register: registry,
    prefix: PREFIX,
    eventLoopMonitoringPrecision: EVENT_LOOP_INTERVAL,
  });
}

/** Registers metrics with a registry; names and labels are what dashboards and alerts query. */
export function metricsOf(registry: Registry) {
  const registers = [registry];
  return {
    counter<Label extends string = never>(name: MetricName, help: string, ...labelNames: Label[]) {
      return new Counter<Label>({ name, help, labelNames, registers });
    },
    gauge<Label extends string = never>(name: MetricName, help: string, ...labelNames: Label[]) {
      return new Gauge<Label>({ name, help, labelNames, registers });
    },
    /** `collect` sets its values at each scrape. */
    collected<Label extends string = never>(
      name: MetricName,
      help: string,
      {
        collect,
        labels = [],
      }: { collect: (gauge: Gauge<Label>) => void | Promise<void>; labels?: Label[] },
    ) {
      new Gauge<Label>({
        ...{ name, help, labelNames: labels, registers },
        collect() {
          return collect(this);
        },
      });
    },
    histogram<Label extends string = never>(
      name: MetricName,
      help: string,
      { buckets, labels = [] }: { buckets: number[]; labels?: Label[] },
    ) {
      return new Histogram<Label>({ name, help, labelNames: labels, buckets, registers });
    },
  };
}
