import { Counter, Gauge, Registry } from 'prom-client';
import type { EventCounts } from '../../ingest/outcome-record.ts';
import { collectProcessMetrics, type MetricName } from '../../platform/metrics.ts';
import { Latency, type LatencyCounts } from './latency.ts';

/** One value, or one for each value of the label; undefined: it is not known. */
type Values = number | readonly (readonly [label: string, value: number])[] | undefined;

/** A metric whose value is read when Prometheus scrapes. */
export interface Reading {
  name: MetricName;
  help: string;
  kind: 'counter' | 'gauge';
  read: () => Values | Promise<Values>;
  label?: string;
}

const PUBLISH_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 3];
const REQUEST_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Answers of one path, by status and by its first digit. */
interface PathAnswers {
  counts: number[];
  seconds: (LatencyCounts | undefined)[];
}

/** The gateway's metrics. Hot counts are plain numbers, without a lookup of labels per event. */
export class GatewayMetrics {
  readonly registry = new Registry();
  readonly #requests = new Map<string, PathAnswers>();
  readonly #events = { accepted: 0, duplicate: 0, rejected: 0 };
  readonly #publish = new Latency({
    name: 'ravand_gateway_publish_seconds',
    help: 'Time from sending a record to Kafka until its acknowledgement.',
    bounds: PUBLISH_BOUNDS,
    registry: this.registry,
  }).with({});
  readonly #seconds = new Latency({
    name: 'ravand_gateway_request_seconds',
    help: 'Time from the last byte of a request until its answer, by path and class of the status; a request that never arrived whole counts as 0 s.',
    bounds: REQUEST_BOUNDS,
    registry: this.registry,
  });

  constructor() {
    collectProcessMetrics(this.registry);
    const requests = this.#requests;
    new Counter({
      name: 'ravand_gateway_requests_total',
      help: 'Answers by path and status; `other` means paths that are not served.',
      labelNames: ['path', 'status'],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [path, { counts }] of requests)
          for (const [status, count] of counts.entries())
            if (count > 0) this.inc({ path, status }, count);
      },
    });
    this.read({
      name: 'ravand_gateway_events_total',
      help: 'Events by outcome: accepted (published or spooled), duplicate, rejected.',
      kind: 'counter',
      label: 'outcome',
      read: () => Object.entries(this.#events),
    });
  }

  /** Registers a metric that is read at each scrape. */
  read(reading: Reading): void {
    const labelNames = reading.label === undefined ? [] : [reading.label];
    const values = async () => {
      const value = await reading.read();
      if (value === undefined) return [];
      return typeof value === 'number'
        ? [{ labels: {}, value }]
        : value.map(([label, one]) => ({ labels: { [reading.label ?? '']: label }, value: one }));
    };
    const options = {
      name: reading.name,
      help: reading.help,
      labelNames,
      registers: [this.registry],
    };
    if (reading.kind === 'gauge') {
      new Gauge({
        ...options,
        async collect() {
          const current = await values();
          this.reset();
          // Otherwise a gauge without labels would be 0.
          if (current.length === 0) this.remove();
          for (const { labels, value } of current) this.set(labels, value);
        },
      });
    } else {
      new Counter({
        ...options,
        async collect() {
          const current = await values();
          this.reset();
          for (const { labels, value } of current) this.inc(labels, value);
        },
      });
    }
  }

  /** @param milliseconds from the last byte of the request until its answer */
  answered = (path: string, status: number, milliseconds: number): void => {
    let of = this.#requests.get(path);
    if (!of)
      this.#requests.set(path, (of = { counts: new Array<number>(600).fill(0), seconds: [] }));
    of.counts[status] = (of.counts[status] ?? 0) + 1;
    const digit = (status / 100) | 0;
    (of.seconds[digit] ??= this.#seconds.with({ path, class: `${digit}xx` })).observe(
      milliseconds / 1000,
    );
  };

  counted = (counts: EventCounts): void => {
    this.#events.accepted += counts.accepted;
    this.#events.duplicate += counts.duplicate;
    this.#events.rejected += counts.rejected;
  };

  acknowledged = (milliseconds: number): void => {
    this.#publish.observe(milliseconds / 1000);
  };
}
