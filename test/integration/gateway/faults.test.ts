import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createAccount, eventually, serviceStatus, type TestAccount } from '../../support/stack.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { freePort } from '../../support/service-process.ts';
import { messageIds, rawOf, watchTopic } from './raw-log.ts';

let account: TestAccount;
let gateway: GatewayProcess;

beforeAll(async () => {
  account = await createAccount('gateway faults');
});

afterEach(async () => {
  await gateway.remove();
});

/** Posts a batch of one person; resolves with its ids after a 200, otherwise with the status. */
async function post(person: string, size = 3): Promise<string[] | number> {
  const ids = Array.from({ length: size }, () => randomUUID());
  const body = JSON.stringify({
    batch: ids.map((message_id) => ({ type: 'track', event: 'x', user_id: person, message_id })),
  });
  const response = await fetch(`${gateway.url}/v1/batch`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.writeKey}` },
    body,
  });
  await response.arrayBuffer();
  return response.status === 200 ? ids : response.status;
}

interface Traffic {
  /** Ids answered 200, by person, in order. */
  durable: Map<string, string[]>;
  /** Other answers, by status; 0 for a connection that broke. */
  others: Map<number, number>;
  stop: () => Promise<void>;
}

/** Simulates people who post one batch after the other. */
function traffic(people: number): Traffic {
  const result: Traffic = { durable: new Map(), others: new Map(), stop: () => Promise.resolve() };
  let isOn = true;
  const all = Array.from({ length: people }, async (_, number) => {
    const person = `person-${randomUUID()}-${number}`;
    result.durable.set(person, []);
    while (isOn) {
      const answer = await post(person).catch(() => 0);
      if (typeof answer === 'number') {
        result.others.set(answer, (result.others.get(answer) ?? 0) + 1);
        await new Promise((resolve) => setTimeout(resolve, 20));
      } else result.durable.get(person)?.push(...answer);
    }
  });
  result.stop = async () => {
    isOn = false;
    await Promise.all(all);
  };
  return result;
}

/**
 * Checks that everything durable is in the log, for each person in the order of the answers.
 * Repeats may follow; the normaliser drops them.
 */
async function expectComplete(
  { durable }: Traffic,
  appended: Awaited<ReturnType<typeof watchTopic>>,
): Promise<void> {
  const wanted = [...durable.values()].flat();
  expect(wanted.length).toBeGreaterThan(0);
  const ids = await eventually(
    { ms: 60_000, waitingFor: 'everything answered 200 to be in the log' },
    async () => {
      const found = [...new Set(messageIds(rawOf(await appended(), account.accountId)))];
      const known = new Set(found);
      return wanted.every((id) => known.has(id)) ? found : undefined;
    },
  );
  const position = new Map(ids.map((id, at) => [id, at]));
  for (const own of durable.values()) {
    const positions = own.map((id) => position.get(id) ?? -1);
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  }
}

async function emptied(): Promise<void> {
  await eventually({ ms: 60_000, waitingFor: 'the spool to be empty' }, async () =>
    (await gateway.phase()) === 'direct' ? true : undefined,
  );
  expect(await gateway.metric('ravand_gateway_spool_records')).toBe(0);
  expect((await readdir(gateway.spoolDir)).filter((name) => name.endsWith('.spool'))).toEqual([]);
}

describe('a gateway', () => {
  it('that starts without Kafka spools events; after kill -9 the next process publishes them in order', async () => {
    const appended = await watchTopic('events.raw');
    gateway = await GatewayProcess.create({ PUBLISH_TIMEOUT: '500ms' });
    const nowhere = { KAFKA_BROKERS: `127.0.0.1:${await freePort()}` };
    await gateway.start(nowhere);
    const load = traffic(5);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(200);
    await gateway.kill('SIGKILL');
    await load.stop();
    expect([...load.others.keys()]).toEqual([0]);
    await gateway.start(nowhere);
    const more = await post('after the restart');
    expect(more).toHaveLength(3);
    await gateway.kill('SIGTERM');
    await gateway.start();
    await expectComplete(load, appended);
    await emptied();
  });

  it('that is killed under load repeatedly loses nothing it answered 200', async () => {
    const appended = await watchTopic('events.raw');
    gateway = await GatewayProcess.create();
    await gateway.start();
    const load = traffic(8);
    for (let kills = 0; kills < 4; kills++) {
      await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 700));
      await gateway.kill('SIGKILL');
      await gateway.start();
    }
    await load.stop();
    await expectComplete(load, appended);
    expect([...load.others.keys()]).toEqual([0]);
  });

  it('that is stopped under load finishes its requests and exits with code 0', async () => {
    const appended = await watchTopic('events.raw');
    gateway = await GatewayProcess.create();
    await gateway.start();
    const load = traffic(8);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(await gateway.kill('SIGTERM')).toBe(0);
    await load.stop();
    await expectComplete(load, appended);
  });

  it('whose Kafka hangs spools events, and publishes directly again when Kafka answers', async (context) => {
    const { pid } = await serviceStatus('kafka');
    if (pid === null) return context.skip('Kafka is no process of this stack');
    const appended = await watchTopic('events.raw');
    gateway = await GatewayProcess.create({ PUBLISH_TIMEOUT: '500ms' });
    await gateway.start();
    const load = traffic(8);
    await new Promise((resolve) => setTimeout(resolve, 500));
    process.kill(pid, 'SIGSTOP');
    try {
      await eventually(
        { ms: 10_000, every: 100, waitingFor: 'the spool to take over' },
        async () =>
          (await gateway.metric('ravand_gateway_spool_records')) > 50 ? true : undefined,
      );
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await eventually({ ms: 30_000, waitingFor: 'direct publishing under load' }, async () =>
      (await gateway.phase()) === 'direct' ? true : undefined,
    );
    await load.stop();
    expect([...load.others]).toEqual([]);
    await expectComplete(load, appended);
    await emptied();
  });

  it('whose spool is full answers 503, and accepts events again when there is room', async () => {
    gateway = await GatewayProcess.create({ PUBLISH_TIMEOUT: '500ms', SPOOL_MAX_BYTES: '20000' });
    await gateway.start({ KAFKA_BROKERS: `127.0.0.1:${await freePort()}` });
    let answer: string[] | number = [];
    for (let posts = 0; posts < 100 && typeof answer !== 'number'; posts++)
      answer = await post('filler');
    expect(answer).toBe(503);
    const refused = await fetch(`${gateway.url}/v1/track`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.writeKey}` },
      body: JSON.stringify({ event: 'x', user_id: 'u', properties: { text: 'x'.repeat(8000) } }),
    });
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(await refused.json()).toEqual({
      status: 'error',
      message: 'temporarily unavailable, please retry',
    });
    await gateway.kill('SIGTERM');
    await gateway.start({ SPOOL_MAX_BYTES: '20000' });
    await emptied();
    expect(await post('filler')).toHaveLength(3);
  });

  it('accepts events without Redis', async () => {
    const appended = await watchTopic('events.raw');
    gateway = await GatewayProcess.create({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    await gateway.start();
    const load = traffic(3);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await load.stop();
    expect([...load.others]).toEqual([]);
    await expectComplete(load, appended);
  });

  it('that cannot verify keys without PostgreSQL answers 503 with Retry-After, never 401', async () => {
    gateway = await GatewayProcess.create({
      DATABASE_URL: `postgres://postgres@127.0.0.1:${await freePort()}/postgres`,
    });
    await gateway.start();
    for (let times = 0; times < 2; times++) {
      const response = await fetch(`${gateway.url}/v1/track`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${account.writeKey}` },
        body: '{}',
      });
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await response.json()).toEqual({
        status: 'error',
        message: 'cannot verify the write key right now; retry',
      });
    }
  });
});
