import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { CuttableProxy } from '../../support/cuttable-proxy.ts';
import {
  admin,
  createAccount,
  eventually,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';

const FULL = 'سقف رویدادهای این ماه پر شده است.';
const REFUSALS = [
  ['cancelled', 'quota_cancelled', 'اشتراک این حساب لغو شده است.'],
  ['trial_ended', 'quota_trial_over', 'دورهٔ آزمایشی این حساب به پایان رسیده است.'],
] as const;

const client = openClickhouse();

const item = () => ({ type: 'track', event: 'bought', user_id: 'u1', message_id: randomUUID() });

/** Posts to the ingest host and returns status and body. */
async function ingest(url: string, account: TestAccount, body: object): Promise<[number, unknown]> {
  const path = 'batch' in body ? '/v1/batch' : '/v1/track';
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.writeKey}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  return [response.status, await response.json()];
}

async function imported(account: TestAccount): Promise<[number, unknown]> {
  const response = await fetch(`${readyStack().base_url}/v1/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.managementKey}` },
    body: JSON.stringify({ events: [item()] }),
    signal: AbortSignal.timeout(20_000),
  });
  return [response.status, await response.json()];
}

async function accountWith(...settings: string[]): Promise<TestAccount> {
  const account = await createAccount('quota');
  await admin('account', 'set', '--account', String(account.accountId), ...settings);
  return account;
}

const stored = async ({ accountId }: TestAccount) =>
  (
    await rows<{ n: number }>(
      client,
      'SELECT count() AS n FROM events WHERE account_id = {id:UInt64}',
      { id: accountId },
    )
  )[0]?.n ?? 0;

/** Uses up the month: five of five events, counted by the meters. */
async function fill(account: TestAccount): Promise<void> {
  const { ingest_url } = readyStack();
  expect(await ingest(ingest_url, account, { batch: [item(), item(), item()] })).toEqual([
    200,
    { status: 'ok', accepted: 3 },
  ]);
  for (let n = 0; n < 2; n++) expect((await ingest(ingest_url, account, item()))[0]).toBe(200);
  await eventually({ ms: 60_000, waitingFor: 'five events in the meter' }, async () => {
    const { events } = await admin<{ events: { after: number } }>(
      'meters',
      'recount',
      '--account',
      String(account.accountId),
    );
    return events.after === 5 ? true : undefined;
  });
}

// Each test has an account of its own and waits for verdicts to expire: they wait together.
describe.concurrent('the event cap of a Jalali month (ingest 8)', () => {
  it('refuses events with 402 on both hosts without storing any, and accepts them again when the plan grows', async () => {
    const { ingest_url } = readyStack();
    const account = await accountWith('max_events=5');
    await fill(account);

    // A gateway caches its verdict for 15 seconds: the responses tell how many events exceed the
    // cap.
    let accepted = 5;
    const refusal = await eventually(
      { ms: 60_000, every: 1000, waitingFor: 'the verdict to be refreshed' },
      async () => {
        const [status, body] = await ingest(ingest_url, account, item());
        if (status === 200) accepted++;
        return status === 200 ? undefined : [status, body];
      },
    );
    expect(refusal).toEqual([402, { status: 'error', message: FULL }]);
    expect(await ingest(ingest_url, account, { batch: [item(), item()] })).toEqual([
      402,
      { status: 'error', message: FULL },
    ]);
    expect(await ingest(ingest_url, account, { batch: [{ type: 'nonsense' }] })).toEqual([
      402,
      { status: 'error', message: FULL },
    ]);
    expect(await imported(account)).toEqual([
      402,
      { error: { code: 'quota_event_cap', message: FULL } },
    ]);
    await eventually({ ms: 60_000, waitingFor: 'the rows' }, async () =>
      (await stored(account)) === accepted ? true : undefined,
    );

    await admin('account', 'set', '--account', String(account.accountId), 'max_events=0');
    await eventually(
      { ms: 60_000, every: 1000, waitingFor: 'the account to be accepted again' },
      async () => ((await ingest(ingest_url, account, item()))[0] === 200 ? true : undefined),
    );
    await eventually({ ms: 60_000, waitingFor: 'the rows' }, async () =>
      (await stored(account)) === accepted + 1 ? true : undefined,
    );
  });

  it('does not count duplicates and rejected events', async () => {
    const { ingest_url } = readyStack();
    const made = await admin<{ account_id: number }>(
      'account',
      'create',
      '--name',
      'quota',
      '--max-events',
      '2',
    );
    const key = await admin<{ write_key: string }>(
      ...[
        'write-key',
        'create',
        '--account',
        String(made.account_id),
        '--app',
        'a',
        '--environment',
        'test',
      ],
    );
    const account = { accountId: made.account_id, writeKey: key.write_key, managementKey: '' };
    const held = item();
    for (let n = 0; n < 5; n++) expect((await ingest(ingest_url, account, held))[0]).toBe(200);
    for (let n = 0; n < 5; n++)
      expect((await ingest(ingest_url, account, { event: 'x' }))[0]).toBe(400);
    await eventually({ ms: 60_000, waitingFor: 'one event in the meter' }, async () => {
      const { events } = await admin<{ events: { after: number } }>(
        'meters',
        'recount',
        '--account',
        String(made.account_id),
      );
      return events.after === 1 ? true : undefined;
    });
    await new Promise((resolve) => setTimeout(resolve, 16_000));
    expect((await ingest(ingest_url, account, item()))[0]).toBe(200);
  });
});

it.concurrent.each(REFUSALS)(
  'an account with the subscription %s is refused with %s on both hosts',
  async (subscription, code, message) => {
    const account = await accountWith(`subscription=${subscription}`);
    const { ingest_url } = readyStack();
    expect(await ingest(ingest_url, account, item())).toEqual([402, { status: 'error', message }]);
    expect(await ingest(ingest_url, account, { batch: [item(), item()] })).toEqual([
      402,
      { status: 'error', message },
    ]);
    expect(await imported(account)).toEqual([402, { error: { code, message } }]);
  },
);

it.concurrent('a full account is accepted while PostgreSQL is unavailable', async () => {
  const address = new URL(readyStack().database_url);
  const proxy = await CuttableProxy.inFrontOf(address.hostname, Number(address.port));
  address.host = `127.0.0.1:${proxy.port}`;
  const gateway = await GatewayProcess.create({ DATABASE_URL: address.toString() });
  try {
    const account = await accountWith('max_events=5');
    await fill(account);
    await gateway.start();
    const [status, body] = await ingest(gateway.url, account, item());
    expect([status, body]).toEqual([402, { status: 'error', message: FULL }]);
    proxy.cut();
    await eventually(
      { ms: 60_000, every: 1000, waitingFor: 'the verdict to be refreshed without PostgreSQL' },
      async () => ((await ingest(gateway.url, account, item()))[0] === 200 ? true : undefined),
    );
    proxy.reconnect();
    await eventually(
      { ms: 60_000, every: 1000, waitingFor: 'the verdict to be refreshed with PostgreSQL' },
      async () => ((await ingest(gateway.url, account, item()))[0] === 402 ? true : undefined),
    );
  } finally {
    await gateway.remove();
    await proxy.close();
  }
});
