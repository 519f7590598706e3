import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { EventCounts } from '../../ingest/outcome-record.ts';
import { Latency } from './latency.ts';

/** A metric whose value is read when Prometheus scrapes. */
export interface Reading {
  name: string;
  help: string;
  kind: 'counter' | 'gauge';
  /** One value, or one for each value of the label. */
  read: () => number | readonly (readonly [label: string, value: number])[];
  label?: string;
}

/** The gateway's metrics. Hot counts are plain numbers, without a lookup of labels per event. */
export class GatewayMetrics {
  readonly registry = new Registry();
  /** Counts of answers by path; the index is the status. */
  readonly #requests = new Map<string, number[]>();
  readonly #events = { accepted: 0, duplicate: 0, rejected: 0 };
  readonly #publish = new Latency({
    name: 'ravand_gateway_publish_seconds',
    help: 'Time from sending a record to Kafka until its acknowledgement.',
    registry: this.registry,
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    const requests = this.#requests;
    new Counter({
      name: 'ravand_gateway_requests_total',
      help: 'Answers by path and status; `other` means paths that are not served.',
      labelNames: ['path', 'status'],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [path, counts] of requests)
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
    const values = () => {
      const value = reading.read();
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
        collect() {
          this.reset();
          for (const { labels, value } of values()) this.set(labels, value);
        },
      });
    } else {
      new Counter({
        ...options,
        collect() {
          this.reset();
          for (const { labels, value } of values()) this.inc(labels, value);
        },
      });
    }
  }

  answered = (path: string, status: number): void => {
    let counts = this.#requests.get(path);
    if (!counts) this.#requests.set(path, (counts = new Array<number>(600).fill(0)));
    counts[status] = (counts[status] ?? 0) + 1;
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
