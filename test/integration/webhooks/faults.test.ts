import { afterEach, describe, expect, it } from 'vitest';
import { makeSealingKey } from '../../../platform/sealing.ts';
import { shortLinkCode } from '../../../events/short-link.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { freePort } from '../../support/service-process.ts';
import {
  bareAccount,
  countersOf,
  createConnection,
  hostedHeaders,
  sealingKey,
  withDatabase,
  type TestConnection,
} from '../../support/webhooks/connection.ts';
import { deliveryText, order } from '../../support/webhooks/hosted-payloads.ts';

const SECRET = 'whsec';
const BODY = deliveryText(order(new Date()));
const TARGET = 'https://shop.example.ir/faults';

let gateway: GatewayProcess | undefined;
afterEach(() => gateway?.remove());

async function started(env: NodeJS.ProcessEnv): Promise<GatewayProcess> {
  gateway = await GatewayProcess.create({ SEALING_KEY: sealingKey(), ...env });
  await gateway.start();
  return gateway;
}

async function connected(): Promise<TestConnection> {
  return createConnection({
    accountId: await bareAccount(),
    source: 'hosted_storefront',
    secret: SECRET,
  });
}

async function deliver(to: GatewayProcess, { source, token }: TestConnection) {
  const headers = hostedHeaders('orders/create', BODY, SECRET);
  const answer = await fetch(`${to.url}/v1/hooks/${source}/${token}`, {
    method: 'POST',
    body: BODY,
    headers,
  });
  return {
    status: answer.status,
    answer: await answer.json(),
    retryAfter: answer.headers.get('retry-after'),
  };
}

const UNVERIFIED = {
  status: 503,
  answer: { status: 'error', message: 'cannot verify the webhook right now; retry' },
  retryAfter: '5',
};

describe('during a fault on our side', () => {
  it('deliveries are answered 503 and short links a plain 404 without PostgreSQL', async () => {
    const connection = await connected();
    const withoutDatabase = await started({
      DATABASE_URL: `postgres://postgres@127.0.0.1:${await freePort()}/postgres`,
    });
    expect(await deliver(withoutDatabase, connection)).toEqual(UNVERIFIED);
    const visit = await fetch(`${withoutDatabase.url}/s/ABCDEFG`, { redirect: 'manual' });
    expect([visit.status, await visit.text()]).toEqual([404, 'not found\n']);
  });

  it('deliveries are answered 503 with another sealing key, and the log says what to do', async () => {
    const other = await started({ SEALING_KEY: makeSealingKey('other') });
    expect(await deliver(other, await connected())).toEqual(UNVERIFIED);
    // The line goes through a pipe and may arrive after the answer.
    await expect
      .poll(() => other.log, { timeout: 10_000 })
      .toContain('add the key that sealed it to SEALING_KEY');
  });

  it('deliveries go to the spool without Kafka; when it is full they are answered 503, not counted, and no duplicates later', async () => {
    const connection = await connected();
    const full = await started({
      KAFKA_BROKERS: `127.0.0.1:${await freePort()}`,
      SPOOL_MAX_BYTES: '1',
      PUBLISH_TIMEOUT: '200ms',
    });
    expect(await deliver(full, connection)).toEqual({
      status: 503,
      answer: { status: 'error', message: 'temporarily unavailable, please retry' },
      retryAfter: null,
    });
    await full.kill('SIGTERM');
    expect(await countersOf(connection)).toEqual({
      received: 0,
      accepted: 0,
      rejected: 0,
      last_error: '',
    });
    await full.start({ SPOOL_MAX_BYTES: '1MiB' });
    expect(await deliver(full, connection)).toMatchObject({
      status: 200,
      answer: { status: 'ok', accepted: 1 },
    });
  });
});

describe('without a sealing key', () => {
  it('the webhook route is not registered, and short links are served', async () => {
    const accountId = await bareAccount();
    await withDatabase((database) =>
      database.query('INSERT INTO short_links (code, account_id, target) VALUES ($1, $2, $3)', [
        shortLinkCode(accountId, TARGET),
        accountId,
        TARGET,
      ]),
    );
    const plain = await started({ SEALING_KEY: '' });
    expect(await deliver(plain, await connected())).toMatchObject({
      status: 405,
      answer: { status: 'error' },
    });
    const visit = await fetch(`${plain.url}/s/${shortLinkCode(accountId, TARGET)}`, {
      redirect: 'manual',
    });
    expect([visit.status, visit.headers.get('location')]).toEqual([302, TARGET]);
    // Deliveries that were answered just before the end are counted.
    expect(await plain.kill('SIGTERM')).toBe(0);
    const { rows } = await withDatabase((database) =>
      database.query<{ clicks: number }>('SELECT clicks::int FROM short_links WHERE code = $1', [
        shortLinkCode(accountId, TARGET),
      ]),
    );
    expect(rows).toEqual([{ clicks: 1 }]);
  });
});

it('the gateway writes the counters of deliveries that it answered just before it stops', async () => {
  const connection = await connected();
  const own = await started({});
  expect(await deliver(own, connection)).toMatchObject({ status: 200, answer: { accepted: 1 } });
  expect(await own.kill('SIGTERM')).toBe(0);
  expect(await countersOf(connection)).toEqual({
    received: 1,
    accepted: 1,
    rejected: 0,
    last_error: '',
  });
});
