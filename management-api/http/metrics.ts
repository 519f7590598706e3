import { Histogram, type Registry } from 'prom-client';
import type { HostOptions } from '../../platform/http/host.ts';

/** Measures answers by route of the table, method and status. */
export function measureAnswers(registry: Registry): NonNullable<HostOptions['observe']> {
  const seconds = new Histogram({
    name: 'management_request_seconds',
    help: 'Time from the head of a request to the end of its answer',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30],
    registers: [registry],
  });
  return (labels, took) => seconds.observe(labels, took);
}
