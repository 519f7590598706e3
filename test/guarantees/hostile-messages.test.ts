import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../contract/management/host.ts';
import { post } from '../support/client.ts';
import { TestCampaign } from '../support/messages/campaign.ts';
import { MessageAccount } from '../support/messages/message-account.ts';
import { identifyPeople } from '../support/messages/people.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { eventually, readyStack, rows } from '../support/stack.ts';
import { openClickhouse, openPostgres } from '../support/stack-clients.ts';

const HOSTILE_PEOPLE = 200;
const PEOPLE = 120;
/** Runs that an account may have in progress by default. */
const MAX_RUNS = 100;
const EVERYBODY = { trait: 'plan', op: 'eq', value: 'gold' };

/** Stopped at a limit, after much time. */
const EXPENSIVE =
  '{% for i in (1..1000) %}{% for j in (1..1000) %}{{ i | times: j }}{% endfor %}{% endfor %}';
/** What people call themselves: Liquid, HTML and text of other languages. */
const NAMES = [
  '{{ user.email }}{{ vars.code }}',
  '{% for i in (1..100000000) %}x{% endfor %}',
  '</b><img src=x onerror=alert(1)>',
  '{{ "".constructor.constructor("return process")() }}',
  'نرگس',
];

const database = openPostgres();
const client = openClickhouse();
let hostile: MessageAccount;
let hostileTemplates: number[];
let other: MessageAccount;
let otherTemplate: number;

const nameOf = (at: number) => `${NAMES[at % NAMES.length] ?? ''} ${at}`;
const userOf = (at: number) => `own-${at}`;

async function account(name: string): Promise<MessageAccount> {
  const made = await MessageAccount.create(database, name);
  const config = { url: `${readyStack().sandbox_url}/bale` };
  await made.sender('bale', 'bale', { config, secret: '1:token' });
  return made;
}

beforeAll(async () => {
  hostile = await account('hostile messages');
  const users = await identifyPeople(client, hostile.account, HOSTILE_PEOPLE);
  await hostile.chats('bale', users);
  hostileTemplates = [];
  for (let made = 0; made < 3; made++)
    hostileTemplates.push(await hostile.template('bale', { text: EXPENSIVE }));

  other = await account('beside hostile messages');
  otherTemplate = await other.template('bale', { text: '[{{ user.first_name }}]' });
  const batch = Array.from({ length: PEOPLE }, (_, at) => ({
    ...{ type: 'identify', user_id: userOf(at), message_id: randomUUID() },
    traits: { first_name: nameOf(at), plan: 'gold' },
  }));
  const { accountId, writeKey } = other.account;
  const { status } = await post(`${readyStack().ingest_url}/v1/batch`, writeKey, { batch });
  expect(status).toBe(200);
  await other.chats(
    'bale',
    batch.map(({ user_id }) => user_id),
  );
  await eventually({ ms: 120_000, every: 1000, waitingFor: 'the profiles' }, async () => {
    const [row] = await rows<{ people: number }>(
      client,
      'SELECT uniqExact(name) AS people FROM profiles WHERE account_id = {a:UInt64}',
      { a: accountId },
    );
    return row?.people === PEOPLE ? true : undefined;
  });
}, testTimeout(300_000));

/** Texts that the sandbox took, by user; it keeps the last thousand messages. */
async function receivedTexts(): Promise<Map<string, string[]>> {
  const response = await fetch(`${readyStack().sandbox_url}/messages?channel=bale&limit=1000`);
  const { messages } = (await response.json()) as { messages: { to: string; text: string }[] };
  const received = new Map<string, string[]>();
  for (const { to, text } of messages) {
    const user = to.slice('chat of '.length);
    received.set(user, [...(received.get(user) ?? []), text]);
  }
  return received;
}

describe('an account with templates that take very long and as many runs as it can queue', () => {
  const campaigns: TestCampaign[] = [];
  let queued = 0;

  it(
    'queues no more runs than it may have in progress',
    async () => {
      for (const template_id of hostileTemplates)
        campaigns.push(
          await TestCampaign.create(hostile, {
            ...{ channel: 'bale', template_id, audience: EVERYBODY, category: 'service' },
          }),
        );
      let refused = '';
      while (refused === '' && queued < 2 * MAX_RUNS) {
        const campaign = campaigns[queued % campaigns.length];
        await campaign?.send().then(
          () => queued++,
          (error: unknown) => (refused = String(error)),
        );
      }
      expect(queued).toBe(MAX_RUNS);
      expect(refused).toMatch(/answered 4\d\d/);
    },
    testTimeout(180_000),
  );

  it(
    'delays neither the campaign nor the transactional messages of another account, whose people get their own data only',
    async () => {
      await campaigns[0]?.until('its messages to be tried', ({ stats }) => stats.failed > 0);
      const campaign = await TestCampaign.create(other, {
        ...{
          channel: 'bale',
          template_id: otherTemplate,
          audience: EVERYBODY,
          category: 'service',
        },
      });
      await campaign.send();
      for (let at = 0; at < 20; at++) {
        const answer = await call('POST', '/v1/messages', {
          key: other.account.managementKey,
          body: {
            ...{ user_id: userOf(at), template_id: otherTemplate, channel: 'bale' },
            idempotency_key: randomUUID(),
          },
        });
        expect([answer.status, answer.body]).toMatchObject([200, { status: 'sent' }]);
      }
      const { stats } = await campaign.until(
        'the other campaign',
        ({ status }) => status === 'sent',
      );
      expect(stats).toMatchObject({ planned: PEOPLE, sent: PEOPLE, failed: 0, skipped: 0 });
      const received = await receivedTexts();
      for (let at = 0; at < PEOPLE; at++)
        expect(received.get(userOf(at))).toEqual(
          Array<string>(at < 20 ? 2 : 1).fill(`[${nameOf(at)}]`),
        );
    },
    testTimeout(300_000),
  );

  it(
    'gets an outcome for everybody when its campaigns are cancelled',
    async () => {
      for (const campaign of campaigns) await campaign.operate('cancel');
      let planned = 0;
      for (const campaign of campaigns) {
        const { stats } = await campaign.until(
          'everybody to have an outcome',
          ({ stats }) => stats.in_flight === 0,
        );
        planned += stats.planned;
        expect(stats.sent).toBe(0);
        expect(Object.keys(stats.skipped_by_reason)).toEqual(['cancelled']);
        expect(Object.keys(stats.failed_by_reason)).toEqual(
          stats.failed > 0 ? ['render_failed'] : [],
        );
        expect(stats.failed + stats.skipped).toBe(stats.planned);
      }
      expect(planned).toBeGreaterThan(0);
    },
    testTimeout(300_000),
  );
});
