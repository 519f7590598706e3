import { beforeAll, describe, expect, it } from 'vitest';
import { isInControlGroup } from '../../../events/messages/control-group.ts';
import { newcombe } from '../../../account-api/campaigns/stats/newcombe.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { post } from '../../support/client.ts';
import { TestCampaign } from '../../support/messages/campaign.ts';
import {
  mailingAccount,
  mailsOf,
  mailToSandbox,
  userOf,
  type SandboxMail,
} from '../../support/messages/mailbox.ts';
import type { MessageAccount } from '../../support/messages/message-account.ts';
import { identifyPeople } from '../../support/messages/people.ts';
import { storedMessageEvents } from '../../support/messages/stored-messages.ts';
import { eventually, ravand, readyStack } from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';

/** Enough that the control group has some and leaves some. */
const PEOPLE = 30;
const CONTROL_PERCENT = 50;
const PHONE =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36';

/** What people did, of GET /v1/campaigns/{id}. */
interface Figures {
  opened: number;
  clicked: number;
  converted: number;
  revenue: number;
  uplift: { treated_rate: number; control_rate: number; low: number; high: number } | null;
}

const database = openPostgres();
const client = openClickhouse();
let owner: MessageAccount;
/** Leaves a control group out; the later one writes to everybody. */
let first: TestCampaign;
let later: TestCampaign;
let treated: string[];
let control: string[];
let mails: Map<string, SandboxMail>;

async function sendToAll(template: number, more: object): Promise<TestCampaign> {
  const campaign = await TestCampaign.create(owner, {
    ...{ channel: 'email', template_id: template },
    audience: { trait: 'plan', op: 'eq', value: 'gold' },
    goal: { event: 'order_completed', window_hours: 24 },
    ...more,
  });
  await campaign.send();
  await campaign.until('all outcomes', ({ status }) => status === 'sent');
  return campaign;
}

const mailTo = (user: string): SandboxMail => {
  const mail = mails.get(user);
  if (!mail) throw new Error(`${user} has no mail`);
  return mail;
};

/** Sends events as the SDK of a phone does. */
async function track(events: readonly object[]): Promise<void> {
  const batch = events.map((event) => ({ type: 'track', ...event }));
  const { ingest_url: url } = readyStack();
  const answer = await post(`${url}/v1/batch`, owner.account.writeKey, { batch });
  expect(answer.status).toBe(200);
}

const order = (user_id: string, revenue: number) => ({
  ...{ user_id, event: 'order_completed', properties: { revenue, currency: 'IRR' } },
});
const about = (event: string, user: string) => ({
  ...{ user_id: user, event, context: { campaign: { message_id: mailTo(user).messageId } } },
});

async function figuresOf(campaign: TestCampaign): Promise<Figures> {
  const { stats } = (await campaign.show()) as unknown as { stats: Figures };
  const { opened, clicked, converted, revenue, uplift } = stats;
  return { opened, clicked, converted, revenue, uplift };
}

/** Waits until the stats are these; answers what they are then. */
async function once(campaign: TestCampaign, wanted: Partial<Figures>): Promise<Figures> {
  let last: Figures | undefined;
  const keys = Object.keys(wanted) as (keyof Figures)[];
  await eventually({ ms: 60_000, every: 500, waitingFor: 'the stats' }, async () => {
    last = await figuresOf(campaign);
    return keys.every((key) => last?.[key] === wanted[key]) ? true : undefined;
  }).catch(() => undefined);
  expect(last).toMatchObject(wanted);
  return figuresOf(campaign);
}

beforeAll(async () => {
  const made = await mailingAccount(database, 'attribution');
  owner = made.owner;
  await mailToSandbox(database, owner);
  const users = await identifyPeople(client, owner.account, PEOPLE);
  first = await sendToAll(made.template, { control_percent: CONTROL_PERCENT });
  later = await sendToAll(made.template, {});
  const group = { campaignId: first.id, percent: CONTROL_PERCENT };
  control = users.filter((user) => isInControlGroup(group, user));
  treated = users.filter((user) => !isInControlGroup(group, user));
  mails = new Map((await mailsOf(first.id)).map((mail) => [userOf(mail), mail]));
}, 240_000);

describe('what people do after a campaign', () => {
  it('begins with a message to everybody who is not in the control group', async () => {
    expect([...mails.keys()].toSorted()).toEqual(treated.toSorted());
    const { stats } = await first.show();
    expect(stats).toMatchObject({ sent: treated.length, withheld: control.length });
    expect([treated.length > 3, control.length > 2]).toEqual([true, true]);
  });

  it('is credited to the last click, or else open, or else message, of a person', async () => {
    const [opener = '', clicker = '', buyer = '', liar = ''] = treated;
    const [withheld = ''] = control;
    const opened = await fetch(mailTo(opener).pixel, { headers: { 'User-Agent': PHONE } });
    expect(opened.status).toBe(200);
    // A client may call its events as it likes.
    await track([about('message_clicked', clicker), about('message_opened', liar)]);
    await once(first, { opened: 1, clicked: 1, converted: 0 });
    await track([
      ...[order(opener, 100), order(clicker, 50), order(clicker, 20)],
      ...[order(buyer, 5), order(withheld, 9)],
    ]);
    await once(first, { opened: 1, clicked: 1, converted: 2, revenue: 170 });
    await once(later, { opened: 0, clicked: 0, converted: 2, revenue: 14 });
  });

  it('is compared with the control group, whichever campaign has the orders', async () => {
    const { uplift } = await once(first, { converted: 2 });
    const [treatedSide, controlSide] = [
      { people: treated.length, converted: 3 },
      { people: control.length, converted: 1 },
    ];
    const { low, high, difference } = newcombe(treatedSide, controlSide);
    expect(uplift).toMatchObject({
      ...{ treated_rate: 3 / treated.length, control_rate: 1 / control.length },
      ...{ difference, low, high, significant: low > 0 || high < 0 },
    });
    expect((await figuresOf(later)).uplift).toBeNull();
  });

  it('is that of the treated person when one of the control group turns out to be the same', async () => {
    const [, , , user_id = ''] = treated;
    const [previous_id = ''] = control;
    const alias = { user_id, previous_id };
    const answer = await post(`${readyStack().ingest_url}/v1/alias`, owner.account.writeKey, alias);
    expect(answer.status).toBe(200);
    await eventually({ ms: 60_000, every: 500, waitingFor: 'the merge in the stats' }, async () => {
      const { uplift } = await figuresOf(first);
      return uplift?.control_rate === 0 ? true : undefined;
    });
    expect((await figuresOf(first)).uplift?.treated_rate).toBe(4 / treated.length);
    await once(first, { opened: 1, clicked: 1, converted: 2, revenue: 170 });
  });

  it('has one event about each message, also after the log was replayed', async () => {
    const { accountId } = owner.account;
    const messages = PEOPLE + treated.length + control.length;
    const events = await eventually({ ms: 60_000, waitingFor: 'the events' }, async () => {
      const found = await storedMessageEvents(client, accountId);
      return found.length >= messages ? found : undefined;
    });
    const before = await figuresOf(first);
    await ravand('replay', '--topic', TOPIC.raw, '--account', String(accountId));
    expect(await storedMessageEvents(client, accountId)).toEqual(events);
    expect(await figuresOf(first)).toEqual(before);
    const [opens, outcomes] = [events.filter(isOpen), events.filter((line) => !isOpen(line))];
    expect(opens).toHaveLength(1);
    expect(outcomes).toHaveLength(messages);
    for (const line of events) expect(line).toMatch(/ 1$/);
  });
});

const isOpen = (line: string) => line.includes(' message_opened ');
