import type { FastifyInstance } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

/**
 * Counts answers by route of the table (everything else is one), method and status, with the
 * seconds they took.
 */
export function observeAnswers(host: FastifyInstance, registry: Registry): void {
  const seconds = new Histogram({
    name: 'management_request_seconds',
    help: 'Time from the head of a request to the end of its answer',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30],
    registers: [registry],
  });
  host.addHook('onResponse', (request, reply, done) => {
    const labels = request.is404
      ? { route: 'unknown', method: 'any' }
      : { route: request.routeOptions.url ?? 'unknown', method: request.method };
    seconds.observe({ ...labels, status: reply.statusCode }, reply.elapsedTime / 1000);
    done();
  });
}
