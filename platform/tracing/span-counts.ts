import { Counter, type Registry } from 'prom-client';
import type { MetricName } from '../metrics.ts';

/** Spans of this process: that the collector has accepted, and that were dropped, by reason. */
export const spanCounts = { exported: 0, dropped: { queue_full: 0, export_failed: 0 } };

/** Exposes the counts, also while traces are off. */
export function exposeSpanCounts(registry: Registry): void {
  new Counter({
    name: 'ravand_trace_spans_exported_total' satisfies MetricName,
    help: 'Spans of traces that the collector accepted.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(spanCounts.exported);
    },
  });
  new Counter({
    name: 'ravand_trace_spans_dropped_total' satisfies MetricName,
    help: 'Spans of traces that were dropped: too many waited (queue_full), or the collector did not take them (export_failed).',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(spanCounts.dropped)) this.inc({ reason }, count);
    },
  });
}
