import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { personKey } from '../../../events/messages/message-id.ts';
import { TestCampaign } from '../../support/messages/campaign.ts';
import { mailingAccount, mailsOf, mailToSandbox, userOf } from '../../support/messages/mailbox.ts';
import type { MessageAccount } from '../../support/messages/message-account.ts';
import { identifyPeople } from '../../support/messages/people.ts';
import { eventually, ravand, rows } from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const PEOPLE = 50;
/** The last person's turn comes long after every dispatcher has noticed an erasure. */
const PER_SECOND = 2;
const REBUILT = 'erased';
const EVERYBODY = { trait: 'plan', op: 'eq', value: 'gold' };

const database = openPostgres();
const client = openClickhouse();
let owner: MessageAccount;
let template: number;
/** In the order in which a run sends. */
let users: string[];
/** Gets the last message of each run. */
let person: string;

beforeAll(async () => {
  ({ owner, template } = await mailingAccount(database, 'erasure of messages'));
  const found = await identifyPeople(client, owner.account, PEOPLE);
  users = found.toSorted((a, b) => (personKey(a) < personKey(b) ? -1 : 1));
  person = users.at(-1) ?? '';
});

/** `./ravand …`, whatever it exits with. */
function run(...args: string[]): Promise<{ code: number; text: string }> {
  return new Promise((resolve) => {
    const options = { timeout: 200_000, maxBuffer: 2 ** 26 };
    execFile(join(CHECKOUT, 'ravand'), args, options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, text: stdout + stderr }),
    );
  });
}

const campaignToAll = (name: string) =>
  TestCampaign.create(owner, {
    ...{ name, channel: 'email', template_id: template, audience: EVERYBODY },
  });
const allSent = (campaign: TestCampaign) =>
  campaign.until('all outcomes', ({ status }) => status === 'sent', 90_000);

/** The users of the account in a table of messages. */
async function usersIn(table: string): Promise<string[]> {
  const found = await rows<{ user_id: string }>(
    client,
    `SELECT user_id FROM ${table} WHERE account_id = {a:UInt64} ORDER BY user_id`,
    { a: owner.account.accountId },
  );
  return found.map(({ user_id }) => user_id);
}

describe('a person who is erased while a campaign is under way', () => {
  let before: TestCampaign;
  let during: TestCampaign;

  beforeAll(async () => {
    await mailToSandbox(database, owner);
    before = await campaignToAll('before');
    await before.send();
    expect((await allSent(before)).stats).toMatchObject({ planned: PEOPLE, sent: PEOPLE });
    await eventually({ ms: 60_000, waitingFor: 'the outcomes' }, async () =>
      (await usersIn('messages FINAL')).length === PEOPLE ? true : undefined,
    );
    await mailToSandbox(database, owner, { max_per_second: PER_SECOND });
    during = await campaignToAll('during');
    await during.send();
    await during.until('the first messages', ({ stats }) => stats.sent > 0);
    const erased = await run(
      ...['erase', '--account', String(owner.account.accountId), '--user-id', person],
    );
    expect(`${erased.code} ${erased.text}`).toMatch(/^0 /);
    await allSent(during);
  }, 240_000);

  it('is sent nothing more, and every other person gets one message', async () => {
    const mails = (await mailsOf(during.id)).map(userOf);
    expect(mails.toSorted()).toEqual(users.filter((user) => user !== person).toSorted());
    expect((await mailsOf(before.id)).map(userOf)).toContain(person);
  });

  it('has an outcome with a reason, and the balance of each campaign stays exact', async () => {
    const { stats } = await during.show();
    expect(stats).toMatchObject({
      ...{ planned: PEOPLE, sent: PEOPLE - 1, failed: 0, withheld: 0, skipped: 1, in_flight: 0 },
      skipped_by_reason: { erased: 1 },
    });
    expect((await before.show()).stats).toMatchObject({
      planned: PEOPLE,
      sent: PEOPLE,
      skipped: 0,
    });
    const { messages } = JSON.parse(await ravand('status', '--json')) as {
      messages: Record<
        'planned' | 'sent' | 'failed' | 'withheld' | 'skipped' | 'in_flight',
        number
      >;
    };
    const { planned, sent, failed, withheld, skipped, in_flight } = messages;
    expect(sent + failed + withheld + skipped + in_flight).toBe(planned);
  });

  it('is in no store but the log', async () => {
    const { accountId } = owner.account;
    const others = users.filter((user) => user !== person);
    await eventually({ ms: 60_000, waitingFor: 'the outcomes' }, async () =>
      (await usersIn('messages FINAL')).length >= 2 * others.length ? true : undefined,
    );
    expect(await usersIn('messages FINAL')).toEqual([...others, ...others].toSorted());
    expect(new Set((await usersIn('campaign_recipients')).filter(Boolean))).toEqual(
      new Set(others),
    );
    const found = await database.query(
      'SELECT 1 FROM message_recipients WHERE account_id = $1 AND user_id = $2',
      [accountId, person],
    );
    expect(found.rows).toEqual([]);
    const verified = await run(
      ...['erase', 'verify', '--account', String(accountId), '--user-id', person, '--json'],
    );
    const { findings } = JSON.parse(verified.text) as { findings: { store: string }[] };
    expect(new Set(findings.map(({ store }) => store))).toEqual(new Set(['log']));
  });

  it('does not come back with a rebuild', async () => {
    await ravand('rebuild', 'messages', '--into', REBUILT, '--json');
    try {
      const others = users.filter((user) => user !== person);
      expect(await usersIn(`messages_${REBUILT} FINAL`)).toEqual([...others, ...others].toSorted());
    } finally {
      await ravand('rebuild', 'messages', '--into', REBUILT, '--cancel');
    }
  });
});
