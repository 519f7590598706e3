import { beforeAll, describe, expect, it } from 'vitest';
import { admin, createAccount, eventually, type TestAccount } from '../../support/stack.ts';
import { QUOTA_SENTENCES } from '../../../events/quota.ts';
import { call, coded, setAccount } from './host.ts';
import { pathOf, specTable } from './spec-table.ts';

const USAGE =
  'مصرف این حساب به ۳۰۰ درصد سهمیهٔ طرح رسیده است؛ گزارش‌ها و خروجی‌ها تا ارتقای طرح بسته‌اند. دریافت رویدادها و ارسال پیام‌ها ادامه دارد.';

let account: TestAccount;

async function importEvents(count: number): Promise<[number, unknown]> {
  const events = Array.from({ length: count }, (_, at) => ({
    type: 'track',
    event: 'imported',
    user_id: `u${at}`,
  }));
  const { status, body } = await call('POST', '/v1/events', {
    key: account.managementKey,
    body: { events },
  });
  return [status, body];
}

/** Waits until the meter has counted; the recount changes nothing that is right. */
async function metered(events: number): Promise<void> {
  await eventually(
    { ms: 60_000, every: 500, waitingFor: `${events} events in the meter` },
    async () => {
      const recount = await admin<{ events: { after: number } }>(
        'meters',
        'recount',
        '--account',
        String(account.accountId),
      );
      return recount.events.after >= events ? true : undefined;
    },
  );
}

beforeAll(async () => {
  account = await createAccount('usage');
});

describe('the soft lock at 300 per cent of an allowance (management 3.1)', () => {
  it('locks the four routes within a minute with usage_300, and unlocks them when the allowance grows', async () => {
    await setAccount(String(account.accountId), { included_events: '3' });
    expect(await importEvents(9)).toEqual([202, { accepted: 9 }]);
    await metered(9);
    const locked = specTable.filter(({ lock }) => lock);
    expect(locked).toHaveLength(4);
    for (const row of locked) {
      const { status, body } = await call(row.method, pathOf(row), {
        key: account.managementKey,
        ...(row.method === 'GET' ? {} : { body: '{}' }),
      });
      expect([status, body]).toEqual([
        403,
        coded('account_locked', USAGE, { details: { reason: 'usage_300' } }),
      ]);
    }
    // Ingest and everything else stay open.
    expect((await importEvents(1))[0]).toBe(202);
    expect((await call('GET', '/v1/segments', { key: account.managementKey })).status).toBe(200);
    await setAccount(String(account.accountId), { included_events: '1000' });
    await eventually(
      { ms: 75_000, every: 3000, waitingFor: 'the verdict of a minute to expire' },
      async () =>
        (await call('GET', '/v1/exports', { key: account.managementKey })).status === 200
          ? true
          : undefined,
    );
  });
});

describe('the ceiling of the month on POST /v1/events (management 7.5)', () => {
  it('answers 402 quota_event_cap within 15 seconds, before it checks the items', async () => {
    await setAccount(String(account.accountId), { max_events: '10' });
    const refusal = await eventually(
      { ms: 40_000, every: 2000, waitingFor: 'the verdict of 15 seconds to expire' },
      async () => {
        const answer = await importEvents(1);
        return answer[0] === 202 ? undefined : answer;
      },
    );
    expect(refusal).toEqual([402, coded('quota_event_cap', QUOTA_SENTENCES.quota_event_cap)]);
    const { status } = await call('POST', '/v1/events', {
      key: account.managementKey,
      body: { events: [{ type: 'nonsense' }] },
    });
    expect(status).toBe(402);
  });
});
