import { beforeAll, describe, expect, it } from 'vitest';
import { personKey } from '../../../events/messages/message-id.ts';
import { post } from '../../support/client.ts';
import { TestCampaign } from '../../support/messages/campaign.ts';
import { mailingAccount, mailsOf, mailToSandbox, userOf } from '../../support/messages/mailbox.ts';
import type { MessageAccount } from '../../support/messages/message-account.ts';
import { identifyPeople } from '../../support/messages/people.ts';
import { storedMessageEvents } from '../../support/messages/stored-messages.ts';
import { eventually, readyStack } from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';

const PEOPLE = 12;

const database = openPostgres();
const client = openClickhouse();
let owner: MessageAccount;
let campaign: TestCampaign;
/** In the order in which the run sends. */
let users: string[];
/** The last two, who turn out to be one person while the run is paused. */
let pair: [string, string];

beforeAll(async () => {
  const made = await mailingAccount(database, 'merge during a run');
  owner = made.owner;
  const found = await identifyPeople(client, owner.account, PEOPLE);
  users = found.toSorted((a, b) => (personKey(a) < personKey(b) ? -1 : 1));
  pair = [users.at(-2) ?? '', users.at(-1) ?? ''];
  await mailToSandbox(database, owner, { max_per_second: 1 });
  campaign = await TestCampaign.create(owner, {
    ...{ channel: 'email', template_id: made.template },
    audience: { trait: 'plan', op: 'eq', value: 'gold' },
  });
  await campaign.send();
  await campaign.until('the first message', ({ stats }) => stats.sent > 0);
  await campaign.operate('pause');
  const mails = await mailsOf(campaign.id);
  expect(mails.map(userOf).filter((user) => pair.includes(user))).toEqual([]);
  const [user_id, previous_id] = pair;
  const alias = { user_id, previous_id };
  const answer = await post(`${readyStack().ingest_url}/v1/alias`, owner.account.writeKey, alias);
  expect(answer.status).toBe(200);
  await eventually({ ms: 60_000, waitingFor: 'the merge' }, async () => {
    const { rows } = await database.query(
      'SELECT canonical FROM identity_names WHERE account_id = $1 AND name = ANY($2)',
      [owner.account.accountId, pair],
    );
    return rows.length === 2 ? true : undefined;
  });
  await mailToSandbox(database, owner);
  await campaign.operate('resume');
  await campaign.until('all outcomes', ({ status }) => status === 'sent');
}, 240_000);

describe('two recipients who are merged while a campaign is under way', () => {
  it('get one message, and everybody else one', async () => {
    const mails = (await mailsOf(campaign.id)).map(userOf);
    const others = users.filter((user) => !pair.includes(user));
    expect(mails.filter((user) => !pair.includes(user)).toSorted()).toEqual(others.toSorted());
    expect(mails.filter((user) => pair.includes(user))).toHaveLength(1);
  });

  it('are two recipients in the balance: one sent, one skipped because they are merged', async () => {
    const { stats } = await campaign.show();
    expect(stats).toMatchObject({
      ...{ planned: PEOPLE, sent: PEOPLE - 1, failed: 0, withheld: 0, skipped: 1, in_flight: 0 },
      skipped_by_reason: { merged: 1 },
    });
  });

  it('have one event about the message that was sent', async () => {
    const events = await eventually({ ms: 60_000, waitingFor: 'the events' }, async () => {
      const found = await storedMessageEvents(client, owner.account.accountId);
      return found.length === PEOPLE - 1 ? found : undefined;
    });
    expect(events.every((line) => line.endsWith(' message_sent 1'))).toBe(true);
  });
});
