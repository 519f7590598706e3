import { describe, expect, it } from 'vitest';
import { startCommerceLoad, type SentEvents } from '../support/commerce-load.ts';
import { Ledger } from '../support/ledger.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { createAccount, FULL, killService, readyStack, sleep } from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';
import { verifyCommerce, type CommerceTraffic } from '../support/verify-commerce.ts';

const KILLS = FULL ? 30 : 3;
const REBALANCES = FULL ? 20 : 2;

describe('G5 and G7: profiles, people and the catalogue equal their reference implementations', () => {
  const ready = readyStack();
  const client = openClickhouse();

  async function begin(name: string): Promise<CommerceTraffic> {
    const account = await createAccount(name);
    const [ledger, sayings] = [new Ledger(), new Map() as SentEvents];
    const load = startCommerceLoad({
      ready,
      account,
      ledger,
      sentEvents: sayings,
      people: 12,
      pause: FULL ? 5 : 30,
    });
    return { account, ledger, sayings, stop: () => load.stop() };
  }

  const verify = (traffic: CommerceTraffic, facts: Record<string, unknown>) =>
    verifyCommerce(client, traffic, facts);

  it(
    `after ${KILLS} kills with -9 of their sinks under load`,
    async () => {
      const traffic = await begin('profiles under kills');
      let kills = 0;
      while (kills < KILLS) {
        await sleep(500 + Math.random() * 2500);
        if (await killService('profiles-sink')) kills++;
        if (Math.random() < 0.5) await killService('identities-sink');
        if (Math.random() < 0.5) await killService('catalogue-sink');
      }
      await sleep(1000);
      await verify(traffic, { kills });
      expect(traffic.ledger.durable.size).toBeGreaterThan(KILLS * 20);
    },
    testTimeout(FULL ? 900_000 : 300_000),
  );

  it(
    `after ${KILLS} kills with -9 of every processor, ClickHouse and Kafka under load`,
    async () => {
      const traffic = await begin('profiles under kills of all parts');
      const parts = [
        'clickhouse',
        'kafka',
        'normaliser',
        'profiles-sink',
        'identities-sink',
        'catalogue-sink',
        'events-sink',
        'ingest-gateway',
      ];
      const killed: string[] = [];
      while (killed.length < KILLS) {
        await sleep(1500 + Math.random() * 2500);
        const part =
          parts[killed.length < 2 ? killed.length : Math.floor(Math.random() * parts.length)] ?? '';
        if (await killService(part)) killed.push(part);
      }
      await sleep(1000);
      await verify(traffic, { killed });
    },
    testTimeout(FULL ? 900_000 : 400_000),
  );

  it(
    `after ${REBALANCES} rebalances between two workers under load, by kill -9 and SIGTERM in turn`,
    async () => {
      const traffic = await begin('profiles under rebalances');
      for (let rebalance = 0; rebalance < REBALANCES; rebalance++) {
        const workers = [
          'projections/profiles',
          'projections/identities',
          'projections/catalogue',
        ].map(
          (folder) => new ServiceProcess(`${folder}/main.ts`, { env: { KAFKA_INSTANCE_ID: '' } }),
        );
        await Promise.all(workers.map((worker) => worker.untilAssigned('events.normalised')));
        await sleep(1000 + Math.random() * 3000);
        await Promise.all(
          workers.map((worker) => worker.end(rebalance % 2 === 0 ? 'SIGKILL' : 'SIGTERM')),
        );
      }
      await verify(traffic, { rebalances: REBALANCES });
    },
    testTimeout(FULL ? 900_000 : 300_000),
  );
});
