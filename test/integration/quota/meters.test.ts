import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { quotaMonth } from '../../../events/tehran-time.ts';
import { meterProfiles } from '../../../pipeline/metering/meters.ts';
import { post } from '../../support/client.ts';
import {
  admin,
  createAccount,
  eventually,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';

interface Recount {
  month: string;
  events: { before: number; after: number; counted: Record<string, number> };
  profiles: { before: number; after: number; counted: { people: number } };
}

const client = openClickhouse();
const database = openPostgres();

const recount = ({ accountId }: TestAccount, ...more: string[]) =>
  admin<Recount>('meters', 'recount', '--account', String(accountId), ...more);

async function send(account: TestAccount, items: object[]): Promise<void> {
  const batch = items.map((item) => ({
    type: 'track',
    event: 'seen',
    message_id: randomUUID(),
    ...item,
  }));
  const answer = await post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, { batch });
  expect([answer.status, answer.body]).toMatchObject([200, { accepted: items.length }]);
}

async function storedRows({ accountId }: TestAccount, n: number): Promise<void> {
  await eventually({ ms: 60_000, waitingFor: `${n} rows` }, async () => {
    const [row] = await rows<{ n: number }>(
      client,
      'SELECT count() AS n FROM events WHERE account_id = {id:UInt64}',
      { id: accountId },
    );
    return row?.n === n ? true : undefined;
  });
}

async function meter({ accountId }: TestAccount, name: string): Promise<number | undefined> {
  const answer = await database.query<{ value: string }>(
    'SELECT value FROM meters WHERE account_id = $1 AND meter = $2 AND month = $3',
    [...[accountId, name], quotaMonth(Date.now()).key],
  );
  return answer.rows[0] && Number(answer.rows[0].value);
}

const metered = (account: TestAccount, n: number) =>
  eventually({ ms: 60_000, waitingFor: `${n} events in the meter` }, async () =>
    (await meter(account, 'events')) === n ? true : undefined,
  );

describe('the profile meter (ingest 8)', () => {
  it('counts people: distinct ids merged by an alias are one person', async () => {
    const account = await createAccount('people');
    await send(account, [{ type: 'alias', user_id: 'joined', previous_id: 'visitor' }]);
    await eventually({ ms: 60_000, waitingFor: 'the identities to be merged' }, async () => {
      const found = await rows(
        client,
        'SELECT 1 FROM identities_flat WHERE account_id = {id:UInt64} AND name != canonical',
        {
          id: account.accountId,
        },
      );
      return found.length > 0 ? true : undefined;
    });
    await send(account, [
      { anonymous_id: 'visitor' },
      { user_id: 'joined' },
      { user_id: 'somebody else' },
    ]);
    await storedRows(account, 4);
    await meterProfiles(database, client, quotaMonth(Date.now()));
    expect(await meter(account, 'profiles')).toBe(2);
  });

  it('is a high watermark: a merge of two people does not lower it', async () => {
    const account = await createAccount('mark');
    await send(account, [{ anonymous_id: 'a' }, { user_id: 'b' }, { user_id: 'c' }]);
    await storedRows(account, 3);
    expect((await recount(account)).profiles).toEqual({
      before: 0,
      after: 3,
      counted: { people: 3 },
    });
    await send(account, [{ type: 'alias', user_id: 'b', previous_id: 'a' }]);
    await eventually(
      { ms: 60_000, every: 1000, waitingFor: 'two of the three people to be merged' },
      async () => {
        const { profiles } = await recount(account);
        expect(profiles.after).toBe(3);
        return profiles.counted.people === 2 ? true : undefined;
      },
    );
    await meterProfiles(database, client, quotaMonth(Date.now()));
    expect(await meter(account, 'profiles')).toBe(3);
  });
});

// Each waits for intervals of the metering service, for an account of its own: they wait together.
describe.concurrent('a recount from what is stored', () => {
  it('gives the same counts after Redis lost its data, and repairs a modified meter', async () => {
    const account = await createAccount('recount');
    // The last timestamp is clamped to 400 days, where retention drops the row at once: it is
    // billed nevertheless. Duplicates and rejected events are not.
    const held = { user_id: 'u1', message_id: randomUUID() };
    await send(account, [
      held,
      { user_id: 'u2' },
      { user_id: 'u2', timestamp: '2001-01-01T00:00:00Z' },
    ]);
    await send(account, [held]);
    expect(
      (await post(`${readyStack().ingest_url}/v1/track`, account.writeKey, { event: 'x' })).status,
    ).toBe(400);
    await metered(account, 3);
    await eventually({ ms: 60_000, every: 1000, waitingFor: 'the books to balance' }, async () => {
      const { events } = await recount(account);
      expect(events).toMatchObject({ before: 3, after: 3 });
      return events.counted['under_way'] === 0 ? true : undefined;
    });

    const redis = new Redis(readyStack().redis_url);
    await redis.flushall();
    redis.disconnect();
    expect((await recount(account)).events).toMatchObject({ before: 3, after: 3 });

    for (const tampered of [0, 1_000_000]) {
      await database.query(
        "UPDATE meters SET value = $2 WHERE account_id = $1 AND meter = 'events'",
        [account.accountId, tampered],
      );
      expect((await recount(account)).events).toMatchObject({ before: tampered, after: 3 });
    }
    await database.query('DELETE FROM meters WHERE account_id = $1', [account.accountId]);
    expect(await recount(account)).toMatchObject({
      events: { before: 0, after: 3 },
      profiles: { before: 0, after: 2 },
    });

    // Metering continues from the recounted value.
    await send(account, [{ user_id: 'u1' }]);
    await metered(account, 4);
    await storedRows(account, 3);
    // Without the books the stored events are counted.
    await database.query('DELETE FROM books WHERE account_id = $1', [account.accountId]);
    await database.query('DELETE FROM meters WHERE account_id = $1', [account.accountId]);
    expect((await recount(account)).events).toMatchObject({ before: 0, after: 3 });
  });

  it('accepts a Jalali month, and rejects an invalid one', async () => {
    const account = await createAccount('months');
    expect(await recount(account, '--month', '1400-12')).toMatchObject({
      month: '1400-12',
      events: { before: 0, after: 0 },
    });
    await expect(recount(account, '--month', '2026-11')).rejects.toThrow('expected a Jalali month');
    await expect(admin('meters', 'recount', '--account', '999999999')).rejects.toThrow(
      'there is no account',
    );
  });
});

describe.concurrent('announcements', () => {
  it('are recorded once per meter, month and percentage, and can be listed', async () => {
    const account = await createAccount('announcements');
    const id = String(account.accountId);
    await admin('account', 'set', '--account', id, 'included_events=4', 'included_profiles=2');
    const shown = async () => {
      const { announcements } = await admin<{
        announcements: {
          meter: string;
          month: string;
          percent: number;
          value: number;
          text: string;
        }[];
      }>(...['announcements', '--account', id]);
      return announcements;
    };
    const awaiting = (percents: number[]) =>
      eventually(
        { ms: 60_000, every: 1000, waitingFor: `announcements of ${percents.join()}` },
        async () => {
          const found = (await shown())
            .filter(({ meter }) => meter === 'events')
            .map(({ percent }) => percent);
          return JSON.stringify(found.toSorted((a, b) => a - b)) === JSON.stringify(percents)
            ? true
            : undefined;
        },
      );
    expect(await shown()).toEqual([]);
    await send(account, [{ user_id: 'a' }, { user_id: 'b' }, { user_id: 'c' }]);
    await metered(account, 3);
    await send(account, [{ user_id: 'a' }]);
    await awaiting([80, 100]);
    await send(
      account,
      Array.from({ length: 8 }, () => ({ user_id: 'a' })),
    );
    await awaiting([80, 100, 125, 150, 300]);
    await storedRows(account, 12);
    await recount(account);
    const profiles = await eventually(
      { ms: 60_000, every: 1000, waitingFor: 'announcements of profiles' },
      async () => {
        const found = (await shown()).filter(({ meter }) => meter === 'profiles');
        return found.length > 0 ? found : undefined;
      },
    );
    expect(profiles.map(({ percent }) => percent).toSorted((a, b) => a - b)).toEqual([
      80, 100, 125, 150,
    ]);
    const { key } = quotaMonth(Date.now());
    const month = key
      .replace('-', '/')
      .replaceAll(/\d/g, (digit) => '۰۱۲۳۴۵۶۷۸۹'.charAt(Number(digit)));
    expect(
      (await shown()).find(({ meter, percent }) => meter === 'events' && percent === 300),
    ).toMatchObject({
      ...{ month: key, value: 12, allowance: 4 },
      text: `مصرف رویدادها در ماه ${month} به ۳۰۰ درصد سهمیهٔ طرح رسید.`,
    });
  });
});
