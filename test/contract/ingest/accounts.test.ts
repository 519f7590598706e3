import { beforeAll, describe, expect, it } from 'vitest';
import { admin, createAccount, type TestAccount } from '../../support/stack.ts';
import { ask, CORS, specified } from './host.ts';

/** A new account that is changed before its key is used: nothing is remembered of it yet. */
async function accountWith(...changes: string[]): Promise<TestAccount> {
  const account = await createAccount('contract');
  await admin('account', 'set', '--account', String(account.accountId), ...changes);
  return account;
}

async function track(
  { writeKey }: TestAccount,
  path = '/v1/track',
  body: unknown = { event: 'x', user_id: 'u', message_id: 'm' },
) {
  const { status, text, headers } = await ask({
    path,
    body,
    headers: { Authorization: `Bearer ${writeKey}` },
  });
  return { status, answer: JSON.parse(text) as { message?: string }, headers };
}

describe('an account (ingest 5.1, 8)', () => {
  it.each([
    ['subscription=cancelled', 402, 'اشتراک این حساب لغو شده است.'],
    ['subscription=trial_ended', 402, 'دورهٔ آزمایشی این حساب به پایان رسیده است.'],
    ['subscription=trial', 200, undefined],
    ['status=suspended', 401, 'invalid write key'],
  ])('with %s is answered %i', async (change, status, message) => {
    const account = await accountWith(change);
    const single = await track(account);
    expect([single.status, single.answer.message]).toEqual([status, message]);
    expect(specified(single.headers)).toMatchObject(CORS);
    const batch = await track(account, '/v1/batch', {
      batch: [{ type: 'track', event: 'x', user_id: 'u' }, { type: 'nonsense' }],
    });
    expect([batch.status, batch.answer.message]).toEqual([status, message]);
  });

  it('is answered 401 when its key was revoked before its first use', async () => {
    const account = await createAccount('revoked');
    const made = await admin<{ write_key_id: number; write_key: string }>(
      'write-key',
      'create',
      '--account',
      String(account.accountId),
      '--app',
      'second',
      '--environment',
      'test',
    );
    await admin('write-key', 'revoke', '--id', String(made.write_key_id));
    expect(await track({ ...account, writeKey: made.write_key })).toMatchObject({
      status: 401,
      answer: { status: 'error', message: 'invalid write key' },
    });
    expect((await track(account)).status).toBe(200);
  });
});

describe('message ids (ingest 2.5)', () => {
  let accounts: TestAccount[];
  beforeAll(async () => {
    accounts = await Promise.all([createAccount('one'), createAccount('two')]);
  });

  it('of one account are no duplicates of another account', async () => {
    const body = { batch: [{ type: 'track', event: 'x', user_id: 'u', message_id: 'shared' }] };
    for (const account of accounts) {
      expect((await track(account, '/v1/batch', body)).answer).toEqual({
        status: 'ok',
        accepted: 1,
      });
      expect((await track(account, '/v1/batch', body)).answer).toEqual({
        status: 'ok',
        accepted: 1,
        duplicates: 1,
      });
    }
  });
});
