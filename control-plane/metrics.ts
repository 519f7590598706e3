import type { Registry } from 'prom-client';
import { metricsOf } from '../platform/metrics.ts';

export function controlMetrics(registry: Registry) {
  const metrics = metricsOf(registry);
  return {
    seconds: metrics.histogram(
      'ravand_control_request_seconds',
      'Time from the head of a request to the end of its answer',
      {
        buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30],
        labels: ['listener', 'route', 'method', 'status'],
      },
    ),
    outcomes: metrics.counter(
      'ravand_control_sign_ins_total',
      'Sign-ins: signed_in, refused, throttled, busy',
      'outcome',
    ),
  };
}
