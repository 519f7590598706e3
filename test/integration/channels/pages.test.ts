import { beforeAll, describe, expect, it } from 'vitest';
import { trackedMessage } from '../../support/channels.ts';
import { addressesOf, consentsOf } from '../../support/channels/person.ts';
import { createAccount, eventually, readyStack, type TestAccount } from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';

const USER = 'مشترک';

const database = openPostgres();
let account: TestAccount;

beforeAll(async () => {
  account = await createAccount('فروشگاه نمونه');
});

async function page(path: string, form?: string): Promise<string> {
  const answer = await fetch(`${readyStack().ingest_url}${path}`, {
    ...(form === undefined
      ? {}
      : {
          method: 'POST',
          headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'User-Agent': 'Reader' },
          body: form,
        }),
  });
  expect(answer.status).toBe(200);
  return answer.text();
}

const consentIs = (state: string) =>
  eventually({ ms: 60_000, waitingFor: `e-mail to be ${state}` }, async () => {
    const { consents } = await addressesOf(account.accountId, USER);
    return consents['email'] === state ? true : undefined;
  });

const entries = async () => {
  const { chains, verified } = await consentsOf(account.accountId, USER);
  expect(verified).toBe(true);
  return chains.flatMap((chain) => chain.entries);
};

describe('the pages of a message', () => {
  it('write consents into a chained log, and only when somebody clicks', async () => {
    const { accountId } = account;
    const { unsubscribe, preferences } = await trackedMessage(database, {
      ...{ accountId, userId: USER },
    });
    // As link scanners do: nothing changes.
    for (let time = 0; time < 3; time++)
      expect(await page(unsubscribe)).toContain('name="confirm"');
    expect(await page(unsubscribe, 'confirm=1')).toContain('role="status"');
    await consentIs('unsubscribed');
    expect(await entries()).toMatchObject([
      { channel: 'email', state: 'unsubscribed', source: 'page', text_version: 'unsubscribe-fa-1' },
    ]);
    expect(await page(unsubscribe)).not.toContain('name="confirm"');

    const form = await page(preferences);
    expect(form).toContain('value="email:unsubscribed"');
    await page(preferences, 'shown=email:unsubscribed&on=email');
    await consentIs('subscribed');
    await page(unsubscribe, 'List-Unsubscribe=One-Click');
    await consentIs('unsubscribed');
    expect(await entries()).toMatchObject([
      { state: 'unsubscribed', text_version: 'unsubscribe-fa-1' },
      { state: 'subscribed', text_version: 'preferences-fa-1' },
      { state: 'unsubscribed', text_version: 'one-click' },
    ]);
  });

  it('shows when an entry of the log was changed', async () => {
    await database.query(
      `UPDATE consent_log SET state = 'subscribed' WHERE account_id = $1 AND number = 2`,
      [account.accountId],
    );
    const { chains, verified } = await consentsOf(account.accountId, USER);
    expect([verified, chains.map(({ broken_at }) => broken_at)]).toEqual([false, [2]]);
  });
});
