import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { createConnection, hostedHeaders } from '../../test/support/webhooks/connection.ts';
import { ORDER_ID, signedOrder } from '../webhooks/order.ts';
import type { Parties, Scenario } from './scenario.ts';

const SOURCE = 'hosted_storefront';
const TOPIC = 'orders/create';

/** Webhooks: a signed order beside forged deliveries, large and small, and unknown tokens. */
export async function webhooksScenario(parties: Parties): Promise<Scenario> {
  const secret = randomBytes(24).toString('base64url');
  const connectionOf = (accountId: number) =>
    createConnection({ accountId, source: SOURCE, secret });
  const own = await connectionOf(parties.measured.accountId);
  const theirs = await connectionOf(parties.hostile.accountId);
  let serial = BigInt(ORDER_ID) + BigInt(Date.now()) * 1000n;
  const url = (token: string, host = parties.ingestUrl) => `${host}/v1/hooks/${SOURCE}/${token}`;
  const deliver = async (host: string) => {
    const order = signedOrder();
    const body = Buffer.from(order.toString().replaceAll(ORDER_ID, String(serial++)));
    const headers = hostedHeaders(TOPIC, body, secret);
    const response = await fetch(url(own.token, host), { method: 'POST', headers, body });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`the gateway answered ${response.status}`);
  };
  return {
    resource: 'webhooks',
    attack: 'forged deliveries up to 1 MiB, and unknown tokens, 64 at a time',
    rate: 20,
    operation: () => deliver(parties.ingestUrl),
    reference: () => deliver(parties.referenceUrl),
    begin: () => attackFrom('webhook-attack-process.ts', [url(theirs.token), url('')]),
  };
}

/** Runs an attack in a process of its own; resolves with the function that ends it. */
export async function attackFrom(
  script: string,
  args: readonly string[],
): Promise<() => Promise<number>> {
  const child = fork(join(import.meta.dirname, script), [...args]);
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  await once(child, 'message');
  return async () => {
    const report = once(child, 'message');
    child.send('stop');
    const [attempts] = (await report) as [number];
    child.disconnect();
    return attempts;
  };
}
