import { afterAll, describe, expect, it } from 'vitest';
import { withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { TOPICS, type ServiceName } from '../../schemas/topology.ts';
import { peopleInDisorder } from '../support/disorder.ts';
import { expectBalanced } from '../support/expect-balanced.ts';
import { expectStoredOnce } from '../support/expect-stored-once.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { Ledger } from '../support/ledger.ts';
import { startLoad, type LoadReport } from '../support/load.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { stackKafka } from '../support/read-topic.ts';
import { SecondInstances } from '../support/second-instances.ts';
import {
  createAccount,
  eventually,
  FULL,
  killService,
  ravand,
  readyStack,
  serviceStatus,
  sleep,
  type TestAccount,
} from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

const BROKERS = ['kafka', 'kafka-2', 'kafka-3'];
/** Time between two kills of a broker, ms. */
const EVERY = FULL ? 20_000 : 6000;
const BROKER_KILLS = FULL ? 30 : 2;
const STEPS = 60;
/** Services that consume the log, of which a second instance comes and goes. */
const CONSUMERS: readonly ServiceName[] = [
  ...(['normaliser', 'events-sink', 'profiles-sink', 'identities-sink'] as const),
  ...(['catalogue-sink', 'quality-sink', 'metering', 'relays'] as const),
];

const client = openClickhouse();

/** What is promised of an account after everything that was done to the servers. */
async function expectGuarantees(
  account: TestAccount,
  { ledger, report }: { ledger: Ledger; report: LoadReport },
): Promise<void> {
  await expectStoredOnce(client, { accountId: account.accountId, ledger, report });
  expect(ledger.durable.size).toBeGreaterThan(100);
  expect(await peopleInDisorder(client, account.accountId)).toEqual([]);
  await expectBalanced(account, ledger);
}

const untilUp = (name: string) =>
  eventually({ ms: 120_000, every: 500, waitingFor: `${name} to be up again` }, async () =>
    (await serviceStatus(name)).up ? true : undefined,
  );

describe('G1 to G3, G6: three brokers with TLS and passwords, two of which acknowledge', () => {
  it('have three replicas of every topic', async () => {
    const topics = TOPICS.map(({ topic }) => topic);
    const metadata = await withKafkaAdmin(stackKafka(), (admin) =>
      admin.fetchTopicMetadata({ topics }),
    );
    for (const { name, partitions } of metadata.topics)
      for (const { replicas } of partitions)
        expect({ name, replicas: [...replicas].sort() }).toEqual({ name, replicas: [1, 2, 3] });
  });

  it(
    `events answered 200 are stored once and in order while a broker is killed with -9 every ${EVERY / 1000} s, ${BROKER_KILLS} times`,
    async () => {
      const account = await createAccount('brokers');
      const ledger = new Ledger();
      const load = startLoad({ ready: readyStack(), account, ledger, people: 10, pause: 20 });
      let kills = 0;
      for (let turn = 0; kills < BROKER_KILLS; turn++) {
        await sleep(EVERY);
        if (await killService(BROKERS[turn % BROKERS.length] ?? '')) kills++;
      }
      for (const name of BROKERS) await untilUp(name);
      const report = await load.stop();
      await expectGuarantees(account, { ledger, report });
    },
    testTimeout(FULL ? 1_800_000 : 300_000),
  );

  it.runIf(FULL)(
    'events answered 200 while two of three brokers are stopped are stored once and in order',
    async () => {
      const account = await createAccount('two brokers stopped');
      const ledger = new Ledger();
      const load = startLoad({ ready: readyStack(), account, ledger, people: 10, pause: 20 });
      await sleep(1000);
      for (const name of ['kafka-2', 'kafka-3']) await ravand('stop', name);
      const before = ledger.durable.size;
      await sleep(60_000);
      const during = ledger.durable.size - before;
      for (const name of ['kafka-2', 'kafka-3']) await ravand('start', name);
      const report = await load.stop();
      await expectGuarantees(account, { ledger, report });
      expect(during).toBeGreaterThan(0);
    },
    testTimeout(600_000),
  );
});

describe.runIf(FULL)('G1 to G3, G6: two instances of the gateway and of each consumer', () => {
  const second = new SecondInstances();
  const gateways: GatewayProcess[] = [];
  afterAll(async () => {
    await second.remove();
    for (const gateway of gateways) await gateway.remove();
  });

  it(
    `events answered 200 are stored once and in order while instances are killed and added at random, ${STEPS} times`,
    async () => {
      const gateway = await GatewayProcess.create();
      gateways.push(gateway);
      await gateway.start();
      // Its address is another one after each start.
      const ready = { ...readyStack(), ingest_url: gateway.url };
      const loads = [];
      for (const [name, of] of [
        ['first gateway', readyStack()],
        ['second gateway', ready],
      ] as const) {
        const [account, ledger] = [await createAccount(name), new Ledger()];
        const load = startLoad({ ready: of, account, ledger, people: 6, pause: 20 });
        loads.push({ account, ledger, load });
      }
      for (const name of CONSUMERS) second.start(name);
      for (const name of CONSUMERS) await second.untilAssigned(name);
      for (let step = 0; step < STEPS; step++) {
        const name = CONSUMERS[Math.floor(Math.random() * CONSUMERS.length)] ?? 'normaliser';
        const what = ['kill first', 'kill second', 'end second'][step % 3];
        if (what === 'kill first') await killService(name);
        else if (second.names.includes(name))
          await second.end(name, what === 'kill second' ? 'SIGKILL' : 'SIGTERM');
        await sleep(500 + Math.random() * 2500);
        if (step % 3 === 1) {
          await gateway.kill('SIGKILL');
          await gateway.start();
          ready.ingest_url = gateway.url;
        }
        if (step % 2 === 1)
          for (const one of CONSUMERS) if (!second.names.includes(one)) second.start(one);
      }
      for (const { account, ledger, load } of loads)
        await expectGuarantees(account, { ledger, report: await load.stop() });
    },
    testTimeout(1_800_000),
  );
});
