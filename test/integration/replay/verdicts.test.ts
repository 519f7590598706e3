import { beforeAll, describe, expect, it } from 'vitest';
import { post } from '../../support/client.ts';
import {
  createAccount,
  eventually,
  ravand,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { leaveDeadEvent } from './dead-event.ts';

const DAY = 86_400_000;

interface Report {
  counts: Record<string, number>;
  differences: { message_id: string; columns: string[] }[];
}

describe('a replay', () => {
  const client = openClickhouse();
  let account: TestAccount;
  const a = () => ({ a: account.accountId });
  const send = async (batch: readonly object[]) => {
    const answer = await post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, { batch });
    expect(answer.status).toBe(200);
  };
  const event = (message_id: string, more: object = {}) => ({
    type: 'track',
    event: 'seen',
    user_id: 'u-1',
    message_id,
    ...more,
  });
  const replay = async (...args: string[]) =>
    JSON.parse(
      await ravand('replay', '--json', '--account', String(account.accountId), ...args),
    ) as Report;
  const stored = async () =>
    (
      await rows<{ id: string }>(
        client,
        'SELECT message_id AS id FROM events WHERE account_id = {a:UInt64} ORDER BY id',
        a(),
      )
    ).map(({ id }) => id);
  const change = async (query: string) =>
    client.command({
      query,
      query_params: a(),
      clickhouse_settings: { lightweight_deletes_sync: '2', mutations_sync: '2' },
    });

  beforeAll(async () => {
    // What an interrupted run left behind would be in the way.
    await ravand('replay', '--cancel').catch(() => undefined);
    account = await createAccount('replay verdicts');
    await send([
      event('m1'),
      event('m2', { properties: { price: 2.5, name: 'کفش' } }),
      event('m3', { type: 'identify', traits: { level: 3 } }),
      event('old', { timestamp: new Date(Date.now() - 200 * DAY).toISOString() }),
    ]);
    await eventually({ ms: 30_000, waitingFor: 'the rows' }, async () =>
      (await stored()).length === 4 ? true : undefined,
    );
  });

  it("reports a row that differs from today's normalisation, and does not change it", async () => {
    await change(
      "ALTER TABLE events UPDATE properties = map('price', '9') WHERE account_id = {a:UInt64} AND message_id = 'm2'",
    );
    const report = await replay('--topic', 'events.raw');
    expect(report.counts).toMatchObject({ stored: 3, would_change: 1, new: 0 });
    expect(report.differences).toMatchObject([{ message_id: 'm2', columns: ['properties'] }]);
    expect(
      await rows(
        client,
        "SELECT properties FROM events WHERE account_id = {a:UInt64} AND message_id = 'm2'",
        a(),
      ),
    ).toEqual([{ properties: { price: '9' } }]);
    await change("DELETE FROM events WHERE account_id = {a:UInt64} AND message_id = 'm2'");
    expect((await replay('--topic', 'events.raw')).counts).toMatchObject({
      new: 1,
      would_change: 0,
    });
  });

  it('does not add events that are older than the retention of their account', async () => {
    await ravand(
      'admin',
      'account',
      'set',
      '--account',
      String(account.accountId),
      'retention_days=30',
    );
    await change(
      "DELETE FROM events WHERE account_id = {a:UInt64} AND message_id IN ('old', 'm1')",
    );
    expect((await replay('--topic', 'events.raw')).counts).toMatchObject({ expired: 1, new: 1 });
    expect(await stored()).toEqual(['m1', 'm2', 'm3']);
  });

  it('adds dead events that can be processed now to rows, profile, identities, catalogue and books', async () => {
    account = await createAccount('replay of what was dead');
    await send([event('m1'), event('m2'), event('m3', { type: 'identify', traits: { level: 3 } })]);
    await eventually({ ms: 30_000, waitingFor: 'the rows' }, async () =>
      (await stored()).length === 3 ? true : undefined,
    );
    await leaveDeadEvent(() =>
      send([
        event('d1', { event: 'order_completed', properties: { revenue: 12.5 } }),
        event('d2', { type: 'alias', user_id: 'u-1', previous_id: 'anon-of-u-1' }),
      ]),
    );
    const books = async () =>
      (
        JSON.parse(await ravand('status', '--json', '--account', String(account.accountId))) as {
          books: Record<string, number>;
        }
      ).books;
    await eventually(
      { ms: 40_000, every: 1000, waitingFor: 'the books to know of it' },
      async () => ((await books())['dead'] === 2 ? true : undefined),
    );
    expect((await replay('--topic', 'events.raw', '--dry-run')).counts).toMatchObject({
      new: 2,
      revived: 2,
    });
    expect((await replay('--topic', 'events.dead')).counts).toMatchObject({ new: 2, revived: 2 });
    expect(await stored()).toEqual(['d1', 'd2', 'm1', 'm2', 'm3']);
    const profile = await eventually({ ms: 30_000, waitingFor: 'the profile' }, async () => {
      const [found] = await rows<{ event_count: number; order_count: number }>(
        client,
        "SELECT event_count, order_count, toFloat64(total_revenue) AS revenue FROM profiles FINAL WHERE account_id = {a:UInt64} AND name = 'u-1'",
        a(),
      );
      return found?.event_count === 5 ? found : undefined;
    });
    expect(profile).toEqual({ event_count: 5, order_count: 1, revenue: 12.5 });
    expect(
      await rows(
        client,
        "SELECT sum(count) AS n FROM event_catalogue FINAL WHERE account_id = {a:UInt64} AND event = 'order_completed'",
        a(),
      ),
    ).toEqual([{ n: 1 }]);
    expect(
      await rows(
        client,
        "SELECT canonical FROM identities_flat FINAL WHERE account_id = {a:UInt64} AND name = 'anon-of-u-1'",
        a(),
      ),
    ).toEqual([{ canonical: 'u-1' }]);
    const after = await eventually(
      { ms: 40_000, every: 1000, waitingFor: 'the books to balance' },
      async () => {
        const found = await books();
        return found['in_flight'] === 0 && found['dead'] === 0 ? found : undefined;
      },
    );
    expect(after['published']).toBe(after['stored']);
    expect((await replay('--topic', 'events.dead')).counts).toMatchObject({ new: 0, stored: 2 });
    // The next event of the name goes on from the profile that was folded anew.
    await send([event('m4')]);
    await eventually({ ms: 30_000, waitingFor: 'the next event' }, async () => {
      const [found] = await rows<{ event_count: number }>(
        client,
        "SELECT event_count FROM profiles FINAL WHERE account_id = {a:UInt64} AND name = 'u-1'",
        a(),
      );
      return found?.event_count === 6 ? true : undefined;
    });
  });

  it('refuses offsets that the log does not retain, and names the retained ones', async () => {
    await expect(
      ravand('replay', '--topic', 'events.raw', '--offsets', '0:99999999-99999999'),
    ).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the log has 0:0-') as string,
    });
    await expect(
      ravand('replay', '--topic', 'events.raw', '--offsets', '99:0-1'),
    ).rejects.toMatchObject({
      stderr: expect.stringContaining('has no partition 99') as string,
    });
  });
});
