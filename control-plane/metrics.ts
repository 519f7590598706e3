import type { Registry } from 'prom-client';
import { metricsOf } from '../platform/metrics.ts';

type RequestLabel = 'listener' | 'route' | 'method' | 'status';

/** Each metric of the control plane, also under its name of earlier releases: without `ravand_`. */
export function controlMetrics(registry: Registry) {
  const metrics = metricsOf(registry);
  const requests = ['ravand_control_request_seconds', 'control_request_seconds'].map((name) =>
    metrics.histogram(name, 'Time from the head of a request to the end of its answer', {
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30],
      labels: ['listener', 'route', 'method', 'status'] as RequestLabel[],
    }),
  );
  const signIns = ['ravand_control_sign_ins_total', 'control_sign_ins_total'].map((name) =>
    metrics.counter(name, 'Sign-ins: signed_in, refused, throttled, busy', 'outcome'),
  );
  return {
    seconds: {
      observe(labels: Record<RequestLabel, string | number>, took: number): void {
        for (const histogram of requests) histogram.observe(labels, took);
      },
    },
    outcomes: {
      inc(labels: { outcome: string }): void {
        for (const counter of signIns) counter.inc(labels);
      },
    },
  };
}
