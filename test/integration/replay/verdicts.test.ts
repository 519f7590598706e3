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

  it('leaves dead events to a redrive, with and without a retained verdict, and adds nothing of them', async () => {
    account = await createAccount('replay of what is dead');
    await send([event('m1'), event('m2')]);
    await eventually({ ms: 30_000, waitingFor: 'the rows' }, async () =>
      (await stored()).length === 2 ? true : undefined,
    );
    await leaveDeadEvent(() =>
      send([event('d1', { event: 'order_completed', properties: { revenue: 12.5 } })]),
    );
    const report = await replay('--topic', 'events.raw');
    expect(report.counts).toMatchObject({ new: 0, dead: 1, stored: 2, revived: 0 });
    expect(await stored()).toEqual(['m1', 'm2']);
    await expect(ravand('replay', '--topic', 'events.dead')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('./ravand dlq redrive GROUP') as string,
    });
    const [group] = (
      JSON.parse(await ravand('dlq', '--json')) as {
        groups: { group: string; states: { dead: number } }[];
      }
    ).groups.filter(({ states }) => states.dead > 0);
    expect(JSON.parse(await ravand('dlq', 'redrive', group?.group ?? '', '--json'))).toMatchObject({
      events: 1,
      unready: 0,
    });
    await eventually({ ms: 30_000, waitingFor: 'the redriven row' }, async () =>
      (await stored()).length === 3 ? true : undefined,
    );
    const profile = await eventually({ ms: 30_000, waitingFor: 'the profile' }, async () => {
      const [found] = await rows<{ event_count: number; revenue: number }>(
        client,
        "SELECT event_count, toFloat64(total_revenue) AS revenue FROM profiles FINAL WHERE account_id = {a:UInt64} AND name = 'u-1'",
        a(),
      );
      return found?.event_count === 3 ? found : undefined;
    });
    expect(profile).toEqual({ event_count: 3, revenue: 12.5 });
    // Its first place is dead for ever, and its row stands at the new one.
    expect((await replay('--topic', 'events.raw')).counts).toMatchObject({
      ...{ new: 0, dead: 0, stored: 3, duplicate: 1 },
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
