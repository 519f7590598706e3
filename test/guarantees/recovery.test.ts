import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onAccount } from '../../platform/clickhouse/shards.ts';
import { post } from '../support/client.ts';
import { testTimeout } from '../support/test-timeout.ts';
import {
  createAccount,
  eventually,
  FULL,
  ravand,
  readyStack,
  rows,
  type TestAccount,
} from '../support/stack.ts';
import { startRetention } from '../support/retention-process.ts';
import { openClickhouse, openPostgres } from '../support/stack-clients.ts';
import { CONSUMER_GROUPS } from '../../schemas/topology.ts';
import { leaveDeadEvent } from '../integration/replay/dead-event.ts';

interface CheckReport {
  accounts: {
    account: number;
    compared: number;
    differing: number;
    differences: { name: string; folded: number; stored: number; kind: string }[];
  }[];
}

interface RebuildReport {
  state: string;
  refused: string | null;
  gaps: string[];
}

const PEOPLE = 6;
const WHERE = 'WHERE account_id = {a:UInt64}';

describe('Recovery: what was lost is found, and brought back exactly', () => {
  const client = openClickhouse();
  const database = openPostgres();
  let account: TestAccount;
  let sent = 0;
  const a = () => ({ a: account.accountId });

  const send = async (each: number) => {
    const batch = Array.from({ length: PEOPLE * each }, (_, at) => ({
      ...{ type: 'track', event: 'order_completed', user_id: `u-${at % PEOPLE}` },
      ...{ message_id: randomUUID(), properties: { order_id: `${sent + at}`, revenue: 2 } },
    }));
    const answer = await post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, { batch });
    expect(answer.status).toBe(200);
    sent += each;
  };
  const counts = async () =>
    Object.fromEntries(
      (
        await rows<{ name: string; n: number }>(
          client,
          `SELECT name, event_count AS n FROM profiles FINAL ${WHERE}`,
          a(),
        )
      ).map(({ name, n }) => [name, n]),
    );
  const folded = (name: string, n: number) =>
    eventually({ ms: 60_000, waitingFor: `${n} events of ${name}` }, async () =>
      (await counts())[name] === n ? true : undefined,
    );
  const stored = () =>
    eventually({ ms: 60_000, waitingFor: 'the rows' }, async () => {
      const [found] = await rows<{ n: number }>(
        client,
        `SELECT count() AS n FROM events ${WHERE}`,
        a(),
      );
      return found?.n === sent * PEOPLE ? true : undefined;
    });
  /** Reads the report of a command whatever its exit code. */
  const reportOf = async <T>(...args: string[]): Promise<T> =>
    JSON.parse(
      await ravand(...args, '--json').catch((error: unknown) => {
        const { stdout } = error as { stdout: string };
        if (stdout.trim() === '') throw error;
        return stdout;
      }),
    ) as T;
  const check = async () => {
    const report = await reportOf<CheckReport>(
      ...['profiles', 'check', '--account', String(account.accountId)],
    );
    return report.accounts[0];
  };
  const rebuild = (...args: string[]) => reportOf<RebuildReport>('rebuild', ...args);
  const alias = async (previous_id: string, user_id: string) => {
    const event = { type: 'alias', previous_id, user_id, message_id: randomUUID() };
    const answer = await post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, {
      batch: [event],
    });
    expect(answer.status).toBe(200);
  };
  const merged = (name: string, person: string) =>
    eventually({ ms: 60_000, waitingFor: `${name} to be ${person}` }, async () => {
      const [found] = await rows<{ canonical: string }>(
        client,
        `SELECT canonical FROM identities_flat FINAL ${WHERE} AND name = '${name}'`,
        a(),
      );
      return found?.canonical === person ? true : undefined;
    });
  /** Every event has one row; `more`: those that are not sent by `send`. */
  const storedOnce = (more: number) =>
    eventually({ ms: 120_000, waitingFor: 'each row once' }, async () => {
      const [found] = await rows<{ n: number; ids: number }>(
        client,
        `SELECT count() AS n, uniqExact(message_id) AS ids FROM events ${WHERE}`,
        a(),
      );
      expect(found?.n).toBe(found?.ids);
      return found?.n === sent * PEOPLE + more ? true : undefined;
    });
  const deadGroups = async () =>
    (
      JSON.parse(await ravand('dlq', '--json')) as {
        groups: { group: string; reason: string; states: { dead: number; redriving: number } }[];
      }
    ).groups
      .filter(({ states }) => states.dead + states.redriving > 0)
      .map(({ group }) => group);
  const booksOf = async () =>
    (
      JSON.parse(await ravand('status', '--json', '--account', String(account.accountId))) as {
        books: Record<string, number>;
      }
    ).books;
  /** Copies the files of the stopped PostgreSQL. */
  const dump = async (from: string, to: string) => {
    await ravand('stop', 'postgres');
    await rm(to, { recursive: true, force: true });
    await cp(from, to, { recursive: true });
    await ravand('start', 'postgres');
  };
  const change = (query: string) =>
    onAccount(client, account.accountId).command({
      query,
      query_params: a(),
      clickhouse_settings: { lightweight_deletes_sync: '2' },
    });

  beforeAll(async () => {
    await ravand('replay', '--cancel').catch(() => undefined);
    account = await createAccount('recovery');
    await send(3);
    await folded('u-0', 3);
    await folded('u-5', 3);
    await stored();
  });
  afterAll(async () => {
    const tables = await rows<{ name: string }>(
      client,
      "SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '^(events|profiles|identities_flat)_(recovery|former_[0-9]+)$')",
    );
    for (const { name } of tables) await client.command({ query: `DROP TABLE ${name} SYNC` });
  });

  it('profiles that lost a state or are gone are found by the check, and a rebuild restores them', async () => {
    expect(await check()).toMatchObject({ compared: PEOPLE, differing: 0 });
    // As a power cut leaves it: the newest state of one profile is gone, and all of another.
    const [last] = await rows<{ o: number }>(
      client,
      `SELECT toUInt32(_offset) AS o FROM profiles FINAL ${WHERE} AND name = 'u-1'`,
      a(),
    );
    await change(
      `INSERT INTO profiles SELECT * REPLACE ('lost' AS name) FROM (SELECT * FROM profiles FINAL ${WHERE} AND name = 'u-1')`,
    );
    await change(`DELETE FROM profiles ${WHERE} AND name IN ('u-1', 'u-2')`);
    await change(
      `INSERT INTO profiles SELECT * REPLACE ('u-1' AS name, event_count - 1 AS event_count, toUInt64(${Math.max(0, (last?.o ?? 1) - 1)}) AS _offset) FROM (SELECT * FROM profiles FINAL ${WHERE} AND name = 'lost')`,
    );
    await change(`DELETE FROM profiles ${WHERE} AND name = 'lost'`);
    const found = await check();
    expect(found?.differing).toBe(2);
    expect(found?.differences.toSorted((x, y) => (x.name < y.name ? -1 : 1))).toEqual([
      { name: 'u-1', folded: 2, stored: 3, kind: 'profile_lacks' },
      { name: 'u-2', folded: 0, stored: 3, kind: 'profile_lacks' },
    ]);
    // A rebuild repairs, so it differs: a swap with --compare asks how much may.
    const refused = await rebuild('profiles', '--into', 'recovery', '--compare', '--swap');
    expect(refused).toMatchObject({ state: 'caught up' });
    expect(refused.refused).toContain('--max-differing is 0');
    expect(await rebuild('profiles', '--into', 'recovery', '--swap')).toMatchObject({
      state: 'swapped',
      refused: null,
    });
    expect(await check()).toMatchObject({ compared: PEOPLE, differing: 0 });
  });

  it(
    'a swap can be undone and redone: the table that comes back has what arrived meanwhile',
    async () => {
      await send(2);
      for (let at = 0; at < PEOPLE; at++) await folded(`u-${at}`, 5);
      expect(await rebuild('profiles', '--undo')).toMatchObject({ state: 'swapped' });
      // The former table still lacks what it had lost, and nothing else.
      await folded('u-3', 5);
      expect((await check())?.differences.map(({ name }) => name).sort()).toEqual(['u-1', 'u-2']);
      // Another rebuild into the same name keeps the table that the undo replaced.
      await rebuild('profiles', '--into', 'recovery');
      expect(await rebuild('profiles', '--undo')).toMatchObject({ state: 'swapped' });
      await send(1);
      for (let at = 0; at < PEOPLE; at++) await folded(`u-${at}`, 6);
      await stored();
      expect(await check()).toMatchObject({ compared: PEOPLE, differing: 0 });
    },
    testTimeout(300_000),
  );

  // Takes PostgreSQL from every test that runs beside it: in the full form only.
  it.runIf(FULL)(
    'after a restore of PostgreSQL to an earlier point every event is stored once, the books balance and undone merges stay undone',
    async () => {
      const readers = CONSUMER_GROUPS.map(({ service }) => service);
      const services = [...new Set([...readers, 'retention', 'planner'])];
      const each = async (verb: 'stop' | 'start') => {
        for (const service of services) await ravand(verb, service);
      };
      account = await createAccount('restore of PostgreSQL');
      sent = 0;
      const folder = join(process.env['RAVAND_HOME'] ?? '', 'data', 'postgres');
      const dead = await leaveDeadEvent(() => send(1));
      expect(dead.partition).toBeGreaterThanOrEqual(0);
      await alias('anon-1', 'u-1');
      await merged('anon-1', 'u-1');
      await dump(folder, `${folder}.dump`);
      // What the dump does not know: rows, an undo, a merge and a redrive.
      await send(4);
      await ravand(
        ...['admin', 'alias', 'undo', '--account', String(account.accountId)],
        ...['--previous-id', 'anon-1'],
      );
      await merged('anon-1', 'anon-1');
      await alias('anon-2', 'u-2');
      await merged('anon-2', 'u-2');
      const [group] = await deadGroups();
      await ravand('dlq', 'redrive', group ?? '', '--json');
      await storedOnce(2);
      await expect(ravand('log', 'after-restore')).rejects.toThrow('stop the services');
      await each('stop');
      await dump(`${folder}.dump`, folder);
      await ravand('log', 'after-restore', '--dry-run');
      await ravand('log', 'after-restore');
      expect(await rebuild('identities', '--into', 'recovery', '--swap')).toMatchObject({
        state: 'swapped',
      });
      await each('start');
      await send(2);
      await storedOnce(2);
      expect(await deadGroups()).toEqual([]);
      await merged('anon-1', 'anon-1');
      await merged('anon-2', 'u-2');
      await eventually({ ms: 60_000, every: 1000, waitingFor: 'balanced books' }, async () => {
        const books = await booksOf();
        return books['in_flight'] === 0 && books['dead'] === 0 ? true : undefined;
      });
      const books = await booksOf();
      expect(books['published']).toBe(books['stored']);
      expect(books['stored']).toBe(sent * PEOPLE + 2);
      for (let at = 0; at < PEOPLE; at++)
        await folded(`u-${at}`, sent + (at === 1 || at === 2 ? 1 : 0));
      expect(await check()).toMatchObject({ differing: 0 });
    },
    testTimeout(900_000),
  );

  // Reads the whole log of the stack: in the full form only.
  it.runIf(FULL)(
    'rebuilt events are not swapped in when a replay has added rows meanwhile',
    async () => {
      account = await createAccount('rebuilt events');
      sent = 0;
      await send(3);
      await stored();
      expect(await rebuild('events', '--into', 'recovery')).toMatchObject({ state: 'caught up' });
      await change(`DELETE FROM events ${WHERE} AND user_id = 'u-0'`);
      await ravand('replay', '--topic', 'events.raw', '--account', String(account.accountId));
      const report = await rebuild('events', '--into', 'recovery', '--swap');
      expect(report).toMatchObject({ state: 'caught up' });
      expect(report.refused).toContain('has added rows to the live table');
      await ravand('rebuild', 'events', '--into', 'recovery', '--cancel');
      expect(await rebuild('events', '--into', 'recovery', '--swap')).toMatchObject({
        state: 'swapped',
      });
      expect(await rebuild('events', '--undo')).toMatchObject({ state: 'swapped' });
      await stored();
    },
    testTimeout(900_000),
  );

  // As above; and it runs the deletion of the whole stack.
  it.runIf(FULL)(
    'events that retention deletes and books while a rebuild waits do not come back with the swap',
    async () => {
      account = await createAccount('rebuild across retention');
      const of = ['--account', String(account.accountId)];
      const batch = [1, 40, 60].map((age) => ({
        ...{ type: 'track', event: `aged_${age}`, user_id: 'u-0' },
        timestamp: new Date(Date.now() - age * 86_400_000).toISOString(),
      }));
      await post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, { batch });
      const names = async () =>
        (
          await rows<{ event: string }>(
            client,
            `SELECT event FROM events ${WHERE} ORDER BY event`,
            a(),
          )
        ).map(({ event }) => event);
      const all = ['aged_1', 'aged_40', 'aged_60'];
      await eventually({ ms: 60_000, waitingFor: 'the rows' }, async () =>
        (await names()).length === all.length ? true : undefined,
      );
      expect(await rebuild('events', '--into', 'recovery')).toMatchObject({ state: 'caught up' });
      await ravand('admin', 'account', 'set', ...of, 'retention_days=30');
      await ravand('stop', 'retention');
      await database.query('DELETE FROM retention_runs');
      const retention = startRetention();
      await eventually({ ms: 60_000, waitingFor: 'the run of retention to end' }, async () =>
        (await database.query('SELECT 1 FROM retention_runs WHERE finished_at IS NOT NULL'))
          .rowCount === 1
          ? true
          : undefined,
      );
      const ended = once(retention, 'exit');
      retention.kill('SIGTERM');
      await ended;
      await ravand('start', 'retention');
      expect(await names()).toEqual(['aged_1']);
      expect(await rebuild('events', '--into', 'recovery', '--swap')).toMatchObject({
        state: 'swapped',
      });
      expect(await names()).toEqual(['aged_1']);
      // Compared again, the books still count them once.
      await database.query(
        'UPDATE books SET open = true, changed_at = now() WHERE account_id = $1',
        [account.accountId],
      );
      await eventually({ ms: 60_000, every: 1000, waitingFor: 'the comparison' }, async () => {
        const open = 'SELECT 1 FROM books WHERE account_id = $1 AND open';
        const { rowCount } = await database.query(open, [account.accountId]);
        return rowCount === 0 ? true : undefined;
      });
      expect(await booksOf()).toMatchObject({ published: 3, stored: 3, in_flight: 0 });
    },
    testTimeout(900_000),
  );
});
