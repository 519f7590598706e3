import { afterEach, beforeEach, expect, it } from 'vitest';
import { OtlpReceiver } from './testing/otlp-receiver.ts';
import { createLog } from '../log.ts';
import { openTelemetry } from './open-telemetry.ts';
import { spanCounts } from './span-counts.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await OtlpReceiver.start();
});
afterEach(() => receiver.close());

const open = (change: Partial<Parameters<typeof openTelemetry>[0]> = {}) =>
  openTelemetry({
    ...{ service: 'a-service', endpoint: `${receiver.endpoint}/`, headers: '' },
    ...{ percent: 0, perSecond: 10_000, log: createLog({ part: 'test', level: 'silent' }) },
    ...change,
  });

it('spans reach the collector with their trace, parents, attributes and headers', async () => {
  const { tracing, close } = open({ headers: 'authorization=Bearer%20a%3Db, x-team = events' });
  const request = tracing.request('POST /v1/track', { trace: 'cafe', traceparent: PARENT });
  const publish = request?.child('publish', 'producer', { count: 2 });
  publish?.end({}, 'Kafka refused it');
  request?.end({ 'http.response.status_code': 503 });
  tracing.continued(publish?.traceparent ?? '', 'normaliser process')?.end();
  await close();
  expect(receiver.headers[0]).toMatchObject({ authorization: 'Bearer a=b', 'x-team': 'events' });
  const byName = new Map(receiver.trace(TRACE_ID).map((span) => [span.name, span]));
  const [server, producer, consumer] = ['POST /v1/track', 'publish', 'normaliser process'].map(
    (name) => byName.get(name),
  );
  expect(server).toMatchObject({
    ...{ service: 'ravand-a-service', kind: 2, parentSpanId: '00f067aa0ba902b7', status: 0 },
    attributes: { 'ravand.trace': 'cafe', 'http.response.status_code': 503 },
  });
  expect(producer).toMatchObject({ kind: 4, parentSpanId: server?.spanId, status: 2 });
  expect(producer?.attributes).toEqual({ count: 2 });
  expect(consumer).toMatchObject({ kind: 5, parentSpanId: producer?.spanId });
  expect(receiver.spans).toHaveLength(3);
});

it('what is not sampled makes no span', async () => {
  const { tracing, close } = open();
  const ask = (traceparent?: string) =>
    tracing.request('POST /v1/track', { trace: '0123456789abcdef', traceparent });
  expect(ask()).toBeUndefined();
  expect(ask(PARENT.replace(/01$/, '00'))).toBeUndefined();
  for (const bad of ['', 'x', PARENT.replace(/01$/, '00'), `${PARENT}-`])
    expect(tracing.continued(bad, 'normaliser process')).toBeUndefined();
  await close();
  expect(receiver.spans).toEqual([]);
  expect(receiver.headers).toEqual([]);
});

it('spans are dropped and counted while the collector refuses, and when too many wait', async () => {
  receiver.status = 400;
  const { tracing, close } = open({ percent: 100 });
  const before = { ...spanCounts.dropped };
  for (let at = 0; at < 5000; at++)
    tracing.request('POST /v1/track', { trace: '0123456789abcdef', traceparent: undefined })?.end();
  await close().catch(() => undefined);
  const dropped = () => {
    const { queue_full: full, export_failed: failed } = spanCounts.dropped;
    return { full: full - before.queue_full, failed: failed - before.export_failed };
  };
  await expect.poll(() => dropped().full + dropped().failed).toBe(5000);
  expect(dropped().full).toBeGreaterThan(0);
});
