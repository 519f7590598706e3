import type { Registry } from 'prom-client';
import type { HostOptions } from '../../platform/http/host.ts';
import { metricsOf } from '../../platform/metrics.ts';

/** Measures answers by route of the table, method and status. */
export function measureAnswers(registry: Registry): NonNullable<HostOptions['observe']> {
  const metrics = metricsOf(registry);
  const options = {
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30],
    labels: ['route', 'method', 'status'] as ('route' | 'method' | 'status')[],
  };
  const seconds = metrics.histogram(
    'ravand_management_request_seconds',
    'Time from the head of a request to the end of its answer',
    options,
  );
  return (labels, took) => seconds.observe(labels, took);
}
