import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isInControlGroup } from '../../events/messages/control-group.ts';
import { campaignMessageId, personKey } from '../../events/messages/message-id.ts';
import { trackedMessage } from '../support/channels.ts';
import { TestCampaign } from '../support/messages/campaign.ts';
import { DispatcherProcesses } from '../support/messages/dispatcher-processes.ts';
import { MailReceiver } from '../support/messages/mail-receiver.ts';
import { MessageAccount } from '../support/messages/message-account.ts';
import { identifyPeople } from '../support/messages/people.ts';
import { storedMessages, storedMessageEvents } from '../support/messages/stored-messages.ts';
import { testTimeout } from '../support/test-timeout.ts';
import {
  eventually,
  FULL,
  killService,
  ravand,
  readyStack,
  serviceStatus,
  sleep,
} from '../support/stack.ts';
import { openClickhouse, openPostgres } from '../support/stack-clients.ts';

const PEOPLE = FULL ? 50_000 : 800;
const KILLS = FULL ? 30 : 6;
/** Of the sender: the campaign lasts while everything is killed. */
const PER_SECOND = FULL ? 150 : 20;
/** Calls that one dispatcher has open at most. */
const OPEN_CALLS = 20;
const DISPATCHERS = 2;
const PARTS = ['planner', 'dispatcher', 'kafka', 'postgres', 'clickhouse', 'redis'] as const;
const CONTROL_PERCENT = 10;
/** ARCHITECTURE.md, M6. */
const UNSUBSCRIBED_MS = 60_000;
/** People of the middle and of the end of the campaign who unsubscribe while it begins. */
const UNSUBSCRIBE = 20;
/** After a pause or cancellation was answered (issue 16). */
const HELD_MS = 5000;

const database = openPostgres();
const client = openClickhouse();
let receiver: MailReceiver;
let dispatchers: DispatcherProcesses;

beforeAll(async () => {
  receiver = await MailReceiver.listen();
  dispatchers = await DispatcherProcesses.start(DISPATCHERS, { ports: [receiver.port] });
}, testTimeout(180_000));
afterAll(async () => {
  await dispatchers.close();
  await receiver.close();
});
afterEach(() => {
  receiver.fateOf = () => 'accept';
  receiver.latency = 0;
});

/** An account whose mails the receiver gets, and its people. */
async function sendingAccount(
  name: string,
  { people, perSecond }: { people: number; perSecond: number },
): Promise<{ owner: MessageAccount; users: string[]; template: number }> {
  const owner = await MessageAccount.create(database, name);
  const users = await identifyPeople(client, owner.account, people);
  const config = { host: '127.0.0.1', port: receiver.port, from: 'فروشگاه <news@shop.example>' };
  const limits = { max_per_second: perSecond, max_concurrent: OPEN_CALLS };
  await owner.sender('email', 'smtp', { config: { ...config, ...limits } });
  const content = {
    subject: 'سلام {{ user.first_name }}',
    html: '<p>سلام {{ user.first_name }}، <a href="https://shop.example/yalda">یلدا</a></p>',
  };
  return { owner, users, template: await owner.template('email', content, 'marketing') };
}

const EVERYBODY = { trait: 'plan', op: 'eq', value: 'gold' };

/** Unsubscribes as a mail client does with one click; answers when 200 was answered. */
async function unsubscribe(accountId: number, userId: string): Promise<number> {
  const address = `${userId}@mail.example`;
  const { unsubscribe: path } = await eventually({ ms: 60_000, waitingFor: 'a token' }, () =>
    trackedMessage(database, { accountId, userId, address }),
  );
  return eventually({ ms: 60_000, every: 100, waitingFor: 'an unsubscribe' }, async () => {
    const { status } = await fetch(`${readyStack().ingest_url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
      signal: AbortSignal.timeout(20_000),
    });
    return status === 200 ? Date.now() : undefined;
  });
}

async function killOne(part: (typeof PARTS)[number]): Promise<boolean> {
  if (part === 'dispatcher') {
    await dispatchers.killAndStart(Math.floor(Math.random() * DISPATCHERS));
    return true;
  }
  if (!(await killService(part))) return false;
  await eventually({ ms: 90_000, waitingFor: `${part} to be up again` }, async () =>
    (await serviceStatus(part)).up ? true : undefined,
  );
  return true;
}

/** Kills parts at random, each at least once, and the planner first: it has little to do. */
async function killParts(count: number): Promise<Record<string, number>> {
  const killed = Object.fromEntries(PARTS.map((part) => [part, 0]));
  for (let kill = 0; kill < count;) {
    const part = PARTS[kill < PARTS.length ? kill : Math.floor(Math.random() * PARTS.length)];
    await sleep(kill === 0 ? Math.random() * 1000 : 1000 + Math.random() * 6000);
    if (part === undefined || !(await killOne(part))) continue;
    killed[part] = (killed[part] ?? 0) + 1;
    kill++;
  }
  return killed;
}

/** Messages that the receiver took more than once, by message id and by address. */
function doubled(accountMails: readonly { messageId: string; to: string }[]): string[] {
  return [
    ...times(accountMails, ({ messageId }) => messageId),
    ...times(accountMails, ({ to }) => to),
  ]
    .filter(([, count]) => count > 1)
    .map(([key]) => key);
}

function times<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

describe('a campaign while everything is killed (ARCHITECTURE.md, M2, M3, M5 and M6)', () => {
  it(
    `reaches each of ${PEOPLE} people at most once in ${KILLS} kills, and every outcome is counted`,
    async () => {
      const { owner, users, template } = await sendingAccount('campaign under kills', {
        ...{ people: PEOPLE, perSecond: PER_SECOND },
      });
      const { accountId } = owner.account;
      receiver.latency = 300;
      // Some mails are refused for now.
      receiver.fateOf = () => (Math.random() < 0.02 ? 'busy' : 'accept');
      const campaign = await TestCampaign.create(owner, {
        ...{ channel: 'email', template_id: template, audience: EVERYBODY },
        control_percent: CONTROL_PERCENT,
      });
      // In the order in which the run sends.
      const inOrder = users.toSorted((a, b) => (personKey(a) < personKey(b) ? -1 : 1));
      const middle = Math.floor(PEOPLE / 2);
      const leaving = [
        ...inOrder.slice(-UNSUBSCRIBE),
        ...inOrder.slice(middle, middle + UNSUBSCRIBE),
      ];
      const runId = await campaign.send();
      const sentAt = Date.now();
      const killing = killParts(KILLS);
      const left = new Map<string, number>();
      await Promise.all(
        leaving.map(async (user) => left.set(user, await unsubscribe(accountId, user))),
      );
      const killed = await killing;
      const { stats } = await campaign.until(
        'everybody to have an outcome',
        ({ status }) => status === 'sent',
        testTimeout(FULL ? 1_800_000 : 240_000),
      );
      const seconds = Math.round((Date.now() - sentAt) / 1000);

      const { failed, skipped, withheld } = stats;
      const unknown = stats.failed_by_reason['outcome_unknown'] ?? 0;
      console.log(
        JSON.stringify({
          ...{ people: PEOPLE, seconds, killed, mails: receiver.mails.length },
          ...{ accepted: receiver.accepted().length, most_open: receiver.mostOpen, unknown, stats },
        }),
      );
      const accepted = receiver.accepted();
      expect(doubled(accepted)).toEqual([]);
      const { planned, sent, in_flight: inFlight } = stats;
      expect({ planned, inFlight }).toEqual({ planned: PEOPLE, inFlight: 0 });
      expect(sent + failed + withheld + skipped).toBe(PEOPLE);
      expect(stats.failed_by_reason).toEqual(unknown === 0 ? {} : { outcome_unknown: failed });
      expect(unknown).toBeLessThanOrEqual(KILLS * DISPATCHERS * OPEN_CALLS);

      // Nobody was sent anything a minute after it was answered, and the last ones nothing at all.
      const late = accepted.filter(({ to, at }) => {
        const leftAt = left.get(to.split('@')[0] ?? '');
        return leftAt !== undefined && at > leftAt + UNSUBSCRIBED_MS;
      });
      expect(late).toEqual([]);
      const control = users.filter((user) =>
        isInControlGroup({ campaignId: campaign.id, percent: CONTROL_PERCENT }, user),
      );
      const inControl = new Set(control);
      const messageId = (user: string) =>
        campaignMessageId({ campaignId: campaign.id, runId, key: personKey(user) });
      const stored = await eventually(
        { ms: 120_000, every: 1000, waitingFor: 'all outcomes in ClickHouse' },
        async () => {
          const found = await storedMessages(client, accountId);
          return found.size >= PEOPLE ? found : undefined;
        },
      );
      const lastOnes = inOrder.slice(-UNSUBSCRIBE).filter((user) => !inControl.has(user));
      expect(lastOnes.map((user) => stored.get(messageId(user)))).toEqual(
        lastOnes.map(() => 'skipped unsubscribed'),
      );
      expect(control.map((user) => stored.get(messageId(user)))).toEqual(
        control.map(() => 'withheld control_group'),
      );

      // The outcomes are those of the balance, and what the receiver took was sent or is unknown.
      expect([...stored.keys()].sort()).toEqual(users.map(messageId).sort());
      const byStatus = times([...stored.values()], (outcome) => outcome.split(' ')[0] ?? '');
      expect(Object.fromEntries(byStatus)).toEqual(
        Object.fromEntries(
          Object.entries({ sent, failed, withheld, skipped }).filter(([, count]) => count > 0),
        ),
      );
      const received = new Set(accepted.map((mail) => mail.messageId));
      const sentIds = [...stored].filter(([, outcome]) => outcome.startsWith('sent'));
      expect(sentIds.filter(([id]) => !received.has(id))).toEqual([]);
      const mayBe = new Set(['sent ', 'failed outcome_unknown']);
      expect([...received].filter((id) => !mayBe.has(stored.get(id) ?? ''))).toEqual([]);

      // Each outcome but a skipped one is one event.
      const expected = [...stored].flatMap(([id, outcome]) => {
        const [status] = outcome.split(' ');
        return status === 'skipped' ? [] : [`${id} message_${status ?? ''} 1`];
      });
      const events = await eventually(
        { ms: 120_000, every: 1000, waitingFor: 'all events' },
        async () => {
          const found = await storedMessageEvents(client, accountId);
          return found.length >= expected.length ? found : undefined;
        },
      );
      expect(events).toEqual(expected.sort());
      const { rows } = await database.query<{ messages: number }>(
        'SELECT sum(messages)::int AS messages FROM message_meters WHERE account_id = $1',
        [accountId],
      );
      expect(rows[0]?.messages).toBe(sent);
      await expectClosedBooks(accountId, { planned, sent, failed, withheld, skipped });
    },
    testTimeout(FULL ? 3_600_000 : 600_000),
  );
});

/** The totals of the account, which `./ravand status` adds up. */
async function expectClosedBooks(
  accountId: number,
  expected: Record<string, number>,
): Promise<void> {
  const { rows } = await database.query<{ status: string; messages: number }>(
    'SELECT status, messages::int AS messages FROM message_totals WHERE account_id = $1 AND messages > 0',
    [accountId],
  );
  expect(Object.fromEntries(rows.map(({ status, messages }) => [status, messages]))).toEqual(
    Object.fromEntries(Object.entries(expected).filter(([, count]) => count > 0)),
  );
}

describe('a run under way (issue 16)', () => {
  it(
    'sends nothing 5 s after a pause or a cancellation, and its balance stays exact',
    async () => {
      const people = 600;
      const { owner, template } = await sendingAccount('paused and cancelled', {
        ...{ people, perSecond: 40 },
      });
      receiver.latency = 100;
      const definition = { channel: 'email', template_id: template, audience: EVERYBODY };
      const campaign = await TestCampaign.create(owner, definition);
      const before = receiver.mails.length;
      const mailsSince = () => receiver.mails.slice(before);
      const until = (count: number) =>
        eventually({ ms: 60_000, every: 100, waitingFor: `${count} mails` }, () =>
          Promise.resolve(mailsSince().length >= count ? true : undefined),
        );
      const expectHeld = async (since: number) => {
        // A dispatcher that begins anew sends nothing either.
        await dispatchers.killAndStart(0);
        await sleep(Math.max(0, since + 2 * HELD_MS - Date.now()));
        expect(mailsSince().filter(({ at }) => at > since + HELD_MS)).toEqual([]);
      };
      await campaign.send();
      await until(100);
      expect((await campaign.operate('pause')).status).toBe('paused');
      await expectHeld(Date.now());
      expect(mailsSince().length).toBeLessThan(people);
      // Somebody who matches the audience now is not in it: it was frozen when the run began.
      await identifyPeople(client, owner.account, people + 1);
      expect((await campaign.operate('resume')).status).toBe('sending');
      await until(300);
      expect((await campaign.operate('cancel')).status).toBe('cancelled');
      await expectHeld(Date.now());
      const { status, stats } = await campaign.until(
        'everybody to have an outcome',
        ({ stats: { planned, in_flight: inFlight } }) => planned > 0 && inFlight === 0,
      );
      const accepted = mailsSince();
      const unknown = stats.failed_by_reason['outcome_unknown'] ?? 0;
      console.log(JSON.stringify({ people, accepted: accepted.length, status, stats }));
      expect(doubled(accepted)).toEqual([]);
      expect(status).toBe('cancelled');
      expect(stats.planned).toBe(people);
      expect(stats.sent + stats.failed + stats.skipped).toBe(people);
      expect(stats.failed).toBe(unknown);
      expect(stats.skipped_by_reason).toEqual({ cancelled: stats.skipped });
      expect(stats.skipped).toBeGreaterThan(0);
      expect(stats.sent).toBeLessThanOrEqual(accepted.length);
      expect(accepted.length).toBeLessThanOrEqual(stats.sent + unknown);
    },
    testTimeout(240_000),
  );

  it(
    'that was handed over without an answer is unknown, and never sent again',
    async () => {
      const people = 120;
      const { owner, template } = await sendingAccount('answers are lost', {
        ...{ people, perSecond: 1000 },
      });
      const isLost = (to: string) => Number(/\d+/.exec(to)?.[0]) % 4 === 0;
      receiver.fateOf = (to) => (isLost(to) ? 'accept_and_hang_up' : 'accept');
      const before = receiver.mails.length;
      const definition = { channel: 'email', template_id: template, audience: EVERYBODY };
      const campaign = await TestCampaign.create(owner, definition);
      await campaign.send();
      const { stats } = await campaign.until('the end', ({ status }) => status === 'sent');
      expect(stats).toMatchObject({ planned: people, sent: 90, in_flight: 0 });
      expect(stats.failed_by_reason).toEqual({ outcome_unknown: 30 });
      const accepted = receiver.mails.slice(before);
      expect(doubled(accepted)).toEqual([]);
      expect(accepted).toHaveLength(people);
    },
    testTimeout(180_000),
  );
});

describe('a recurrence while everything was down (docs/messages.md, Recurrence)', () => {
  it(
    'runs an instance less than an hour late, asks about a later one, and misses what is over',
    async () => {
      const { owner, template } = await sendingAccount('recurrences', {
        ...{ people: 10, perSecond: 1000 },
      });
      const definition = { channel: 'email', template_id: template, audience: EVERYBODY };
      const hour = 3_600_000;
      const before = receiver.mails.length;
      const recurring = async (rule: string, minutesLate: number) => {
        const campaign = await TestCampaign.create(owner, definition);
        const dueAt = new Date(Date.now() - minutesLate * 60_000);
        dueAt.setUTCMilliseconds(0);
        const starts = new Date(dueAt.getTime() + 24 * hour * 30).toISOString();
        await campaign.recur({ rule, starts_at: starts });
        return { campaign, dueAt };
      };
      await ravand('stop', 'planner');
      const soon = await recurring('FREQ=DAILY', 30);
      const late = await recurring('FREQ=DAILY', 90);
      const over = await recurring('FREQ=DAILY', 24 * 60 + 20);
      for (const { campaign, dueAt } of [soon, late, over])
        await database.query(
          `UPDATE campaigns SET next_at = $2::text::timestamptz, recurrence = jsonb_set(recurrence::jsonb, '{starts_at}', to_jsonb($2::text))::json WHERE id = $1`,
          [campaign.id, dueAt.toISOString()],
        );
      await ravand('start', 'planner');
      await soon.campaign.until('the run to end', ({ stats }) => stats.sent === 10);
      await over.campaign.until('the run to end', ({ stats }) => stats.sent === 10);
      const runsOf = async ({ campaign }: { campaign: TestCampaign }) => {
        const { rows } = await database.query<{ state: string }>(
          'SELECT state FROM campaign_runs WHERE campaign_id = $1 ORDER BY due_at',
          [campaign.id],
        );
        return rows.map(({ state }) => state);
      };
      // A dispatcher looks every two seconds for runs in which everybody has an outcome.
      const untilEnded = (recurrence: { campaign: TestCampaign }) =>
        eventually({ ms: 60_000, waitingFor: 'the last run to end' }, async () => {
          const states = await runsOf(recurrence);
          return states.at(-1) === 'finished' ? states : undefined;
        });
      expect(await untilEnded(soon)).toEqual(['finished']);
      expect(await untilEnded(over)).toEqual(['missed', 'finished']);
      expect(await runsOf(late)).toEqual(['confirm']);
      expect(receiver.mails.slice(before)).toHaveLength(20);
      await late.campaign.operate('confirm');
      await late.campaign.until('the confirmed run to end', ({ stats }) => stats.sent === 10);
      expect(await untilEnded(late)).toEqual(['finished']);
      expect(receiver.mails.slice(before)).toHaveLength(30);
      for (const { campaign } of [soon, late, over]) await campaign.operate('cancel');
    },
    testTimeout(240_000),
  );
});
