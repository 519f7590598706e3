import { expect, it } from 'vitest';
import { GatewayMetrics } from './gateway-metrics.ts';

it('a value that is read from a disk is in the scrape, and left out when it is not known', async () => {
  const metrics = new GatewayMetrics();
  let free: number | undefined = 5;
  const read = () => Promise.resolve(free);
  metrics.read({ name: 'ravand_free_bytes', help: 'x', kind: 'gauge', read });
  expect(await metrics.registry.metrics()).toContain('\nravand_free_bytes 5\n');
  free = undefined;
  expect(await metrics.registry.metrics()).not.toMatch(/^ravand_free_bytes /m);
});

it('each scrape of Prometheus reads the current counts', async () => {
  const metrics = new GatewayMetrics();
  metrics.answered('/v1/track', 200, 4);
  metrics.answered('/v1/track', 202, 700);
  metrics.answered('/v1/track', 200, 20_000);
  metrics.answered('/v1/batch', 503, 0);
  metrics.counted({ received: 5, accepted: 3, duplicate: 1, rejected: 1 });
  metrics.acknowledged(2);
  metrics.acknowledged(5000);
  for (let times = 0; times < 2; times++) {
    const text = await metrics.registry.metrics();
    for (const line of [
      'ravand_gateway_requests_total{path="/v1/track",status="200"} 2',
      'ravand_gateway_requests_total{path="/v1/track",status="202"} 1',
      'ravand_gateway_requests_total{path="/v1/batch",status="503"} 1',
      'ravand_gateway_request_seconds_bucket{path="/v1/track",class="2xx",le="0.0025"} 0',
      'ravand_gateway_request_seconds_bucket{path="/v1/track",class="2xx",le="0.005"} 1',
      'ravand_gateway_request_seconds_bucket{path="/v1/track",class="2xx",le="1"} 2',
      'ravand_gateway_request_seconds_bucket{path="/v1/track",class="2xx",le="10"} 2',
      'ravand_gateway_request_seconds_bucket{path="/v1/track",class="2xx",le="+Inf"} 3',
      'ravand_gateway_request_seconds_sum{path="/v1/track",class="2xx"} 20.704',
      'ravand_gateway_request_seconds_count{path="/v1/track",class="2xx"} 3',
      'ravand_gateway_request_seconds_bucket{path="/v1/batch",class="5xx",le="0.001"} 1',
      'ravand_gateway_events_total{outcome="accepted"} 3',
      'ravand_gateway_publish_seconds_bucket{le="0.001"} 0',
      'ravand_gateway_publish_seconds_bucket{le="0.0025"} 1',
      'ravand_gateway_publish_seconds_bucket{le="3"} 1',
      'ravand_gateway_publish_seconds_bucket{le="+Inf"} 2',
      'ravand_gateway_publish_seconds_sum 5.002',
      'ravand_gateway_publish_seconds_count 2',
    ])
      expect(text).toContain(line);
  }
});
