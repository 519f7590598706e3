import { describe, expect, it } from 'vitest';
import { specifiedProfiles } from '../../projections/profiles/testing/reference-fold.ts';
import {
  aliasesOf,
  eventsOf,
  startCommerceLoad,
  type SentEvents,
  type Stored,
} from '../support/commerce-load.ts';
import { expectedPeople, storedPeople } from '../support/expected-people.ts';
import { Ledger, untilStored } from '../support/ledger.ts';
import type { LoadReport } from '../support/load.ts';
import { ServiceProcess } from '../support/service-process.ts';
import {
  createAccount,
  eventually,
  FULL,
  killService,
  readyStack,
  rows,
  type TestAccount,
  sleep,
} from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

const KILLS = FULL ? 30 : 5;
const REBALANCES = FULL ? 20 : 4;

const PLACES = `SELECT message_id, _epoch, _partition, _offset, _index, account_id, toUnixTimestamp64Milli(timestamp) AS timestamp,
  toUnixTimestamp64Milli(received_at) AS received_at FROM events WHERE account_id = {a:UInt64}`;
const FOLDED = `SELECT name, event_count, toString(toInt128(total_revenue * 1000)) AS thousandths, order_count FROM profiles FINAL WHERE account_id = {a:UInt64}`;

/** The catalogue beside the stored events: they must say the same. */
const CATALOGUE = `SELECT toString(day) AS day, event, sum(event_catalogue.count) AS count, arraySort(groupUniqArrayArray(prop_keys)) AS keys, toUnixTimestamp64Milli(max(event_catalogue.last_seen)) AS last
  FROM event_catalogue FINAL WHERE account_id = {a:UInt64} GROUP BY day, event ORDER BY day, event`;
const COUNTED = `SELECT toString(toDate(timestamp, 'Asia/Tehran')) AS day, event, count() AS count, arraySort(groupUniqArrayArray(mapKeys(properties))) AS keys, toUnixTimestamp64Milli(max(timestamp)) AS last
  FROM events WHERE account_id = {a:UInt64} GROUP BY day, event ORDER BY day, event`;

interface Traffic {
  account: TestAccount;
  ledger: Ledger;
  sayings: SentEvents;
  stop: () => Promise<LoadReport>;
}

describe('G5 and G7: profiles, people and the catalogue equal their reference implementations', () => {
  const ready = readyStack();
  const client = openClickhouse();

  async function begin(name: string): Promise<Traffic> {
    const account = await createAccount(name);
    const [ledger, sayings] = [new Ledger(), new Map() as SentEvents];
    const load = startCommerceLoad({
      ready,
      account,
      ledger,
      sentEvents: sayings,
      people: 12,
      pause: 5,
    });
    return { account, ledger, sayings, stop: () => load.stop() };
  }

  /**
   * Compares profiles and people with an in-memory fold of what was answered 200, once everything
   * is stored.
   */
  async function verify(
    { account, ledger, sayings, stop }: Traffic,
    facts: Record<string, unknown>,
  ): Promise<void> {
    const report = await stop();
    const found = await untilStored(client, account.accountId, ledger, 180_000);
    expect(report.refusals).toEqual([]);
    expect(ledger.open.size).toBe(0);
    expect(found).toEqual({ lost: [], doubled: [], unknown: [] });
    const stored = await rows<Stored>(client, PLACES, { a: account.accountId });
    const events = eventsOf(stored, sayings);
    expect(events.length).toBe(ledger.durable.size);
    const folded = () =>
      rows<{ name: string; event_count: number; thousandths: string; order_count: number }>(
        client,
        FOLDED,
        { a: account.accountId },
      );
    await eventually(
      { ms: 120_000, every: 1000, waitingFor: 'every event to be folded' },
      async () => {
        const count = (await folded()).reduce((sum, { event_count }) => sum + event_count, 0);
        return count >= events.length ? true : undefined;
      },
    );
    // Whatever comes late must change nothing.
    await sleep(3000);
    const profiles = new Map((await folded()).map(({ name, ...figures }) => [name, figures]));
    const specified = specifiedProfiles(events);
    const expected = [...specified].map(
      ([key, { event_count, total_revenue, order_count }]): [string, object] => [
        key.slice(key.indexOf('/') + 1),
        { event_count, thousandths: String(total_revenue), order_count },
      ],
    );
    expect(profiles).toEqual(new Map(expected));
    const people = expectedPeople(events, aliasesOf(stored, sayings));
    expect(people.size).toBeLessThan(profiles.size);
    await eventually(
      { ms: 60_000, every: 1000, waitingFor: 'the aliases to be taken in' },
      async () => {
        const names = [...(await storedPeople(client, account.accountId)).keys()].sort();
        return JSON.stringify(names) === JSON.stringify([...people.keys()].sort())
          ? true
          : undefined;
      },
    ).catch(() => undefined);
    expect(await storedPeople(client, account.accountId)).toEqual(people);
    const counted = await rows(client, COUNTED, { a: account.accountId });
    const catalogue = () => rows(client, CATALOGUE, { a: account.accountId });
    await eventually({ ms: 60_000, every: 1000, waitingFor: 'the catalogue' }, async () =>
      JSON.stringify(await catalogue()) === JSON.stringify(counted) ? true : undefined,
    ).catch(() => undefined);
    expect(await catalogue()).toEqual(counted);
    console.log(
      JSON.stringify({
        ...facts,
        answered: ledger.durable.size,
        retries: report.retries,
        names: profiles.size,
        people: people.size,
      }),
    );
  }

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
    FULL ? 900_000 : 300_000,
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
    FULL ? 900_000 : 400_000,
  );

  it(
    `after ${REBALANCES} rebalances between two workers under load, half of them by kill -9`,
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
    FULL ? 900_000 : 300_000,
  );
});
