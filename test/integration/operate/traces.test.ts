import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TOPIC } from '../../../schemas/topology.ts';
import { post } from '../../support/client.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import {
  OtlpReceiver,
  type ReceivedSpan,
} from '../../../platform/tracing/testing/otlp-receiver.ts';
import { ServiceProcess } from '../../support/service-process.ts';
import {
  clickhouse,
  createAccount,
  eventually,
  ravand,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { createConnection, hostedHeaders, sealingKey } from '../../support/webhooks/connection.ts';
import { deliveryText, order } from '../../support/webhooks/hosted-payloads.ts';

const PARENT = '00f067aa0ba902b7';
const REPLACED = [
  ['normaliser', 'pipeline/normalise/main.ts', TOPIC.raw],
  ['events-sink', 'projections/events/main.ts', TOPIC.normalised],
] as const;

let receiver: OtlpReceiver;
let gateway: GatewayProcess;
let account: TestAccount;
const processes: ServiceProcess[] = [];

/** A gateway, and the normaliser and the sink of the stack, with traces on. */
beforeAll(async () => {
  receiver = await OtlpReceiver.start();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, TRACES_SAMPLED_PERCENT: '100' };
  gateway = await GatewayProcess.create({
    ...env,
    SEALING_KEY: sealingKey(),
    PUSH_ENABLED: 'true',
  });
  account = await createAccount('traces');
  for (const [name] of REPLACED) await ravand('stop', name);
  for (const [name, script] of REPLACED)
    processes.push(new ServiceProcess(script, { env: { ...env, KAFKA_INSTANCE_ID: name } }));
  await Promise.all([
    gateway.start(),
    ...processes.map((process, at) => process.untilAssigned(REPLACED[at]?.[2] ?? '')),
  ]);
  // Until it has reached Kafka it writes to its spool, which keeps no traces.
  await eventually({ ms: 60_000, every: 50, waitingFor: 'the gateway to reach Kafka' }, async () =>
    (await gateway.phase()) === 'direct' ? true : undefined,
  );
});

afterAll(async () => {
  await Promise.all(processes.map((process) => process.end('SIGTERM')));
  for (const [name] of REPLACED) await ravand('start', name);
  await gateway.remove();
  receiver.close();
});

const sampled = (traceId: string) => `00-${traceId}-${PARENT}-01`;

/** Sends an event; answers the X-Service-Trace of its request. */
async function send(url: string, event: string, traceparent?: string): Promise<string> {
  const answer = await post(
    `${url}/v1/track`,
    account.writeKey,
    { event, user_id: `user-${event}`, message_id: randomUUID() },
    traceparent === undefined ? {} : { traceparent },
  );
  expect(answer.status).toBe(200);
  return answer.headers.get('x-service-trace') ?? '';
}

const chain = (spans: readonly ReceivedSpan[]) =>
  spans.map(({ service, name }) => `${service}: ${name}`);

it('a sampled event has spans from its request to the insert of its row, and others have none', async () => {
  const traceId = randomBytes(16).toString('hex');
  const [unsampled, untraced] = [randomBytes(16), randomBytes(16)].map((id) => id.toString('hex'));
  await send(gateway.url, 'asked', sampled(traceId));
  const own = await send(gateway.url, 'own');
  await send(gateway.url, 'unsampled', `00-${unsampled ?? ''}-${PARENT}-00`);
  // The gateway of the stack makes no traces, whatever clients ask for.
  await send(readyStack().ingest_url, 'untraced', sampled(untraced ?? ''));

  const client = clickhouse(readyStack());
  const stored = await eventually(
    { ms: 60_000, every: 200, waitingFor: 'the rows of four events' },
    async () => {
      const found = await rows<{ event: string; trace: string }>(
        client,
        `SELECT event, _trace AS trace FROM events WHERE account_id = ${account.accountId} ORDER BY event`,
      );
      return found.length === 4 ? found : undefined;
    },
  );
  await client.close();
  const traceOf = (event: string) => stored.find((row) => row.event === event)?.trace ?? '';
  expect(traceOf('asked')).toBe(traceId.slice(-16));
  expect(traceOf('own')).toBe(own);

  const ownId = await eventually(
    { ms: 30_000, every: 100, waitingFor: 'the spans of both events' },
    () => {
      const id = receiver.spans.find(({ attributes }) => attributes['ravand.trace'] === own);
      const isComplete = [traceId, id?.traceId ?? ''].every(
        (one) => receiver.trace(one).length >= STEPS.length,
      );
      return Promise.resolve(isComplete ? id?.traceId : undefined);
    },
  );
  // The row of an event leads to its trace, and the other way round.
  expect(ownId.slice(-16)).toBe(traceOf('own'));
  for (const [id, parent] of [
    [traceId, PARENT],
    [ownId, ''],
  ] as const) {
    const spans = receiver.trace(id);
    expect(chain(spans)).toEqual(STEPS);
    expectChain(spans, parent);
    const [request, , , , insert] = spans;
    expect(request?.attributes).toMatchObject({
      ...{ 'http.route': '/v1/track', 'http.response.status_code': 200 },
      ...{ 'ravand.trace': id.slice(-16), 'ravand.account_id': account.accountId },
    });
    expect(insert?.attributes).toMatchObject({
      ...{ 'db.system.name': 'clickhouse', 'ravand.insert_token': expect.any(String) as string },
    });
    for (const { startNs, endNs, status } of spans) {
      expect(endNs >= startNs).toBe(true);
      expect(status).toBe(0);
    }
  }
  expect(new Set(receiver.spans.map(({ traceId: id }) => id))).toEqual(new Set([traceId, ownId]));
  expect(JSON.stringify(receiver.spans.map(({ attributes }) => attributes))).not.toContain('user-');
});

it('a delivery of a webhook has the same steps, and a registration ends in the log of commands', async () => {
  const secret = 'whsec-traces';
  const source = 'hosted_storefront';
  const { accountId } = account;
  const { token } = await createConnection({ accountId, source, secret });
  const [delivery, registration] = [randomBytes(16), randomBytes(16)].map((id) =>
    id.toString('hex'),
  ) as [string, string];
  const body = deliveryText(order(new Date()));
  const delivered = await fetch(`${gateway.url}/v1/hooks/${source}/${token}`, {
    ...{ method: 'POST', body },
    headers: {
      ...hostedHeaders('orders/create', body, secret),
      traceparent: sampled(delivery),
    },
  });
  expect(delivered.status).toBe(200);
  expect(delivered.headers.get('x-service-trace')).toBe(delivery.slice(-16));
  const device = { device_id: 'd', user_id: 'user-d', platform: 'ios', push_token: 'token-of-d' };
  const registered = await post(`${gateway.url}/v1/devices`, account.writeKey, device, {
    traceparent: sampled(registration),
  });
  expect(registered.status).toBe(200);

  const steps = stepsOf('POST /v1/hooks/:source/:token');
  const command = [
    'ravand-ingest-gateway: POST /v1/devices',
    'ravand-ingest-gateway: publish channel.commands',
  ];
  for (const [id, expected] of [
    [delivery, steps],
    [registration, command],
  ] as const) {
    const spans = await eventually(
      { ms: 60_000, every: 100, waitingFor: 'the spans of the request' },
      () => {
        const found = receiver.trace(id);
        return Promise.resolve(found.length >= expected.length ? found : undefined);
      },
    );
    expect(chain(spans)).toEqual(expected);
    expectChain(spans, PARENT);
  }
  const sent = JSON.stringify(receiver.spans.map(({ name, attributes }) => [name, attributes]));
  for (const secrets of [token, 'user-d', 'token-of-d']) expect(sent).not.toContain(secrets);
});

/** Each step is the parent of the next one. */
function expectChain(spans: readonly ReceivedSpan[], first: string): void {
  expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual([
    first,
    ...spans.slice(0, -1).map(({ spanId }) => spanId),
  ]);
}

const stepsOf = (request: string) => [
  `ravand-ingest-gateway: ${request}`,
  'ravand-ingest-gateway: publish events.raw',
  'ravand-normaliser: normaliser process',
  'ravand-events-sink: events-sink process',
  'ravand-events-sink: INSERT events',
];
const STEPS = stepsOf('POST /v1/track');
