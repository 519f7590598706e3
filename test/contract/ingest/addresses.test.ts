import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createAccount,
  eventually,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { call } from '../management/host.ts';

const client = openClickhouse();
let account: TestAccount;
let behindProxy: GatewayProcess;
beforeAll(async () => {
  account = await createAccount('addresses');
  behindProxy = await GatewayProcess.create({ TRUSTED_PROXIES: '127.0.0.0/8,::1,10.0.0.0/8' });
  await behindProxy.start();
});
afterAll(async () => {
  await behindProxy.remove();
});

let serial = 0;

/** The address that is stored of an event. */
async function storedOf(
  send: (event: object) => Promise<number>,
): Promise<{ ip: string; user_agent: string }> {
  const name = `seen ${serial++}`;
  expect(await send({ event: name, user_id: 'u', context: { ip: '9.9.9.9' } })).toBeLessThan(300);
  return eventually({ ms: 60_000, waitingFor: `the row of ${name}` }, async () => {
    const [row] = await rows<{ ip: string; user_agent: string }>(
      client,
      'SELECT ip, user_agent FROM events WHERE account_id = {id:UInt64} AND event = {name:String}',
      {
        ...{ id: account.accountId, name },
      },
    );
    return row;
  });
}

const through = (url: string, forwarded: string | undefined) => async (event: object) => {
  const headers = {
    Authorization: `Bearer ${account.writeKey}`,
    ...(forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded }),
  };
  return (await fetch(`${url}/v1/track`, { method: 'POST', headers, body: JSON.stringify(event) }))
    .status;
};

it.each([
  ['that the proxy reports', '203.0.113.5', '203.0.113.5'],
  ['without what the client put before it', '1.1.1.1, 203.0.113.5, 10.1.2.3', '203.0.113.5'],
  ['of IPv6', '2001:db8::7', '2001:db8::7'],
  ['of the peer when X-Forwarded-For is invalid', '203.0.113.5, nonsense', '127.0.0.1'],
  ['of the peer without X-Forwarded-For', undefined, '127.0.0.1'],
])('behind a trusted proxy the stored address is the one %s', async (_, forwarded, ip) =>
  expect(await storedOf(through(behindProxy.url, forwarded))).toMatchObject({ ip }),
);

it('no proxy is trusted by default, and context.ip does not replace the address of the connection (ingest 2.2)', async () => {
  const { ip } = await storedOf(through(readyStack().ingest_url, '203.0.113.5'));
  expect(['127.0.0.1', '::1']).toContain(ip);
});

it('an import stores context.ip and nothing of the connection', async () => {
  const stored = await storedOf(async (event) => {
    const { status } = await call('POST', '/v1/events', {
      key: account.managementKey,
      body: { events: [{ type: 'track', ...event }] },
    });
    return status;
  });
  expect(stored).toEqual({ ip: '9.9.9.9', user_agent: '' });
});
