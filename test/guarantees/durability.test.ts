import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { changeVersion } from '../../ingest-gateway/spool/testing/change-version.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { post } from '../support/client.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { Ledger, untilStored } from '../support/ledger.ts';
import { startLoad } from '../support/load.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { SecondBroker } from '../support/second-broker.ts';
import { freePort } from '../support/service-process.ts';
import { createAccount, eventually, FULL, readyStack, rows, sleep } from '../support/stack.ts';
import type { TestAccount } from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';
import { movePartition, setTopicConfig } from '../support/topic-settings.ts';

const MAX_BYTES = 'max.message.bytes';
const LOWERED = '100000';
const SILENCE = FULL ? 60_000 : 8000;

let account: TestAccount;
let gateway: GatewayProcess;
let ledger: Ledger;
let broker: SecondBroker | undefined;
const client = openClickhouse();

beforeEach(async () => {
  account = await createAccount('durability');
});

afterEach(async () => {
  await gateway.remove();
});

afterAll(async () => {
  await broker?.remove();
});

/** Posts a batch of about so many bytes; the ledger knows what was answered 200. */
async function send(bytes = 300): Promise<number> {
  const items = Math.ceil(bytes / 8000);
  const batch = Array.from({ length: items }, () => ({
    ...{ type: 'track', event: 'acted', user_id: 'u', message_id: randomUUID() },
    // Random, because Kafka's limit applies to what is left after compression.
    properties: { text: randomBytes(6000).toString('base64').slice(0, bytes) },
  }));
  const ids = batch.map(({ message_id }) => message_id);
  ledger.sent(ids);
  const { status } = await post(`${gateway.url}/v1/batch`, account.writeKey, { batch });
  if (status === 200) ledger.answered(ids);
  return status;
}

/** A gateway that has spooled a small, a large and a small record, and has stopped. */
async function spoolThree(end: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  ledger = new Ledger();
  gateway = await GatewayProcess.create({ PUBLISH_TIMEOUT: '500ms' });
  await gateway.start({ KAFKA_BROKERS: `127.0.0.1:${await freePort()}` });
  expect([await send(), await send(300_000), await send()]).toEqual([200, 200, 200]);
  await gateway.kill(end);
}

const until = (waitingFor: string, probe: () => Promise<boolean>) =>
  eventually({ ms: 60_000, waitingFor }, async () => ((await probe()) ? true : undefined));

const blocked = (reason: string) =>
  until(`the drain to be blocked: ${reason}`, async () => {
    const label = `reason="${reason}"`;
    return (await gateway.metric('ravand_gateway_spool_drain_blocked', label)) === 1;
  });

const direct = () => until('direct publishing', async () => (await gateway.phase()) === 'direct');

/** Events are accepted, and the gateway is ready, while the drain is blocked. */
async function expectAccepting(): Promise<void> {
  expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(200);
  expect(await send()).toBe(200);
  expect(await gateway.metric('ravand_gateway_spool_records')).toBeGreaterThan(1);
}

async function expectComplete(): Promise<void> {
  expect(await untilStored(client, account.accountId, ledger, 180_000)).toMatchObject({
    lost: [],
    doubled: [],
  });
}

describe('G1: nothing answered 200 is dropped', () => {
  it.each([
    [
      'quarantine_unwritable',
      async (path: string) => {
        await rm(path, { recursive: true, force: true });
        await writeFile(path, 'a file where the folder should be');
      },
    ],
    [
      'quarantine_full',
      async (path: string) => {
        await mkdir(path, { recursive: true });
        await writeFile(join(path, 'earlier.damaged'), '');
        await truncate(join(path, 'earlier.damaged'), 200 * 1024 * 1024);
      },
    ],
  ])(
    'when a record is too large for Kafka and cannot be kept aside either: %s',
    async (reason, obstruct) => {
      await spoolThree('SIGTERM');
      const original = await setTopicConfig(TOPIC.raw, { name: MAX_BYTES, value: LOWERED });
      try {
        const quarantine = join(gateway.spoolDir, 'quarantine');
        await obstruct(quarantine);
        await gateway.start();
        await blocked(reason);
        await expectAccepting();
        await rm(quarantine, { recursive: true });
        await direct();
        expect((await readdir(quarantine)).map((name) => name.split('.').at(-1))).toEqual([
          'refused',
        ]);
        // Now the limit is known: what exceeds it is not answered 200.
        expect([await send(300_000), await send()]).toEqual([503, 200]);
      } finally {
        await setTopicConfig(TOPIC.raw, { name: MAX_BYTES, value: original });
      }
      await gateway.kill('SIGTERM');
      await gateway.start();
      await until('the quarantine to be published', async () => {
        return (await gateway.metric('ravand_gateway_spool_quarantine_bytes')) === 0;
      });
      expect(await send(300_000)).toBe(200);
      await expectComplete();
    },
  );

  it('when a record limit is lowered while a gateway publishes', async () => {
    ledger = new Ledger();
    gateway = await GatewayProcess.create({ PUBLISH_TIMEOUT: '500ms' });
    await gateway.start();
    await direct();
    const original = await setTopicConfig(TOPIC.raw, { name: MAX_BYTES, value: LOWERED });
    try {
      const load = startLoad({
        ...{ ready: { ...readyStack(), ingest_url: gateway.url }, account, ledger },
        ...{ people: 5, pause: 10 },
      });
      // The broker applies the limit a moment later.
      await until('a large record to be refused', async () => (await send(300_000)) === 503);
      const answers = await Promise.all(Array.from({ length: 5 }, () => send(300_000)));
      expect(answers.every((status) => status === 200 || status === 503)).toBe(true);
      await direct();
      expect(await send(300_000)).toBe(503);
      const report = await load.stop();
      expect(report.refusals).toEqual([]);
    } finally {
      await setTopicConfig(TOPIC.raw, { name: MAX_BYTES, value: original });
    }
    // A running gateway reads the limit within a minute, one that starts at once.
    if (!FULL) {
      await gateway.kill('SIGTERM');
      await gateway.start();
    }
    await expectComplete();
  });

  it('when a spool was written by another version of the gateway', async () => {
    await spoolThree('SIGKILL');
    const segments = (await readdir(gateway.spoolDir)).filter((name) => name.endsWith('.spool'));
    const paths = segments.map((name) => join(gateway.spoolDir, name));
    for (const path of paths) await changeVersion(path, 9);
    await gateway.start();
    await blocked('unknown_version');
    await expectAccepting();
    await gateway.kill('SIGTERM');
    for (const path of paths) await changeVersion(path, 1);
    await gateway.start();
    await direct();
    await expectComplete();
  });

  it('when the container of a killed gateway is created again under another host name', async () => {
    await spoolThree('SIGKILL');
    const path = join(gateway.spoolDir, 'lock');
    const lock = JSON.parse(await readFile(path, 'utf8')) as object;
    await writeFile(path, JSON.stringify({ ...lock, host: 'the container of before' }));
    await gateway.start();
    await direct();
    await expectComplete();
  });

  it(
    `when one partition cannot be written for ${SILENCE / 1000} s, and the others stay direct`,
    async (context) => {
      const second = await SecondBroker.start();
      if (!second) return context.skip('Kafka is no process of this stack');
      broker = second;
      ledger = new Ledger();
      gateway = await GatewayProcess.create({ PUBLISH_TIMEOUT: '1s' });
      const moved = { topic: TOPIC.raw, partition: 0 };
      try {
        await movePartition({ ...moved, broker: SecondBroker.id });
        await gateway.start();
        await direct();
        const load = startLoad({
          ...{ ready: { ...readyStack(), ingest_url: gateway.url }, account, ledger },
          ...{ people: 20, pause: 20 },
        });
        await sleep(1000);
        second.pause();
        await until('a blocked partition', async () => {
          return (await gateway.metric('ravand_gateway_blocked_partitions')) === 1;
        });
        const acknowledged = () =>
          gateway.metric('ravand_gateway_records_total', 'outcome="acknowledged"');
        const before = await acknowledged();
        await sleep(SILENCE);
        const during = (await acknowledged()) - before;
        expect(await gateway.phase()).toBe('direct');
        second.resume();
        await until('the partition to be written again', async () => {
          return (await gateway.metric('ravand_gateway_blocked_partitions')) === 0;
        });
        const report = await load.stop();
        await expectComplete();
        console.log(
          JSON.stringify({
            ...{ part: 'one partition', silence_ms: SILENCE, answered: ledger.durable.size },
            ...{ acknowledged_during: during, retries: report.retries, lost: 0, doubled: 0 },
          }),
        );
        expect(during).toBeGreaterThan(0);
        expect([report.refusals, report.retries]).toEqual([[], 0]);
        const disorder = await rows(
          client,
          `SELECT user_id FROM (
           SELECT user_id, groupArray(property_numbers['seq']) AS seqs
           FROM (SELECT user_id, property_numbers, _epoch, _partition, _offset, _index FROM events
                 WHERE account_id = {a:UInt64}
                 ORDER BY user_id, _epoch, _partition, _offset, _index)
           GROUP BY user_id)
         WHERE seqs != arraySort(seqs)`,
          { a: account.accountId },
        );
        expect(disorder).toEqual([]);
      } finally {
        second.resume();
        await movePartition({ ...moved, broker: 1 });
      }
    },
    testTimeout(400_000),
  );
});
