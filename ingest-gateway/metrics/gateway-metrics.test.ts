import { expect, it } from 'vitest';
import { GatewayMetrics } from './gateway-metrics.ts';

it('each scrape of Prometheus reads the current counts', async () => {
  const metrics = new GatewayMetrics();
  metrics.answered('/v1/track', 200);
  metrics.answered('/v1/track', 200);
  metrics.answered('/v1/batch', 503);
  metrics.counted({ received: 5, accepted: 3, duplicate: 1, rejected: 1 });
  metrics.acknowledged(2);
  metrics.acknowledged(5000);
  for (let times = 0; times < 2; times++) {
    const text = await metrics.registry.metrics();
    for (const line of [
      'ravand_gateway_requests_total{path="/v1/track",status="200"} 2',
      'ravand_gateway_requests_total{path="/v1/batch",status="503"} 1',
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
