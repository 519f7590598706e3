import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignMessageId, personKey } from '../../../events/messages/message-id.ts';
import {
  readConversion,
  readEvents,
  readFrozen,
  readStored,
} from '../../../ops/why/message/read-warehouse.ts';
import type { MessageOutcome } from '../../../schemas/records.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { BotReceiver } from '../../support/messages/bot-receiver.ts';
import { TestCampaign } from '../../support/messages/campaign.ts';
import { MessageAccount } from '../../support/messages/message-account.ts';
import { MessageHost } from '../../support/messages/message-host.ts';
import { identifyPeople } from '../../support/messages/people.ts';
import { admin, eventually, ravand, readyStack } from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';
import { isoTime, openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const HOUR = 3_600_000;
const NOW = Date.now();
const KEY = personKey('sara');
const ID = campaignMessageId({ campaignId: 7, runId: 12, key: KEY });
const OF = { accountId: 1, campaignId: 7, runId: 12, messageId: ID };
const OUTCOME: MessageOutcome = {
  ...{ account_id: 1, message_id: ID, campaign_id: 7, run_id: 12, template_id: 3 },
  ...{ template_version: 2, channel: 'email', category: 'marketing', person_id: 'sara' },
  ...{ user_id: 'sara', address_hash: 'ab', status: 'sent', reason: '', provider: 'smtp' },
  ...{ provider_message_id: 'queued-1', planned_at: NOW - 3 * HOUR, attempts: 2 },
  finished_at: NOW - 2 * HOUR,
};

const LATER = { timestamp: isoTime(NOW - HOUR / 2) };

describe('what ClickHouse says of a message', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await openTestDatabase('why_message', {
      ddl: [
        ...EVENTS_DDL,
        'projections/identities/ddl/0004_identities_flat.sql',
        'projections/messages/ddl/0060_messages.sql',
      ],
      tables: [],
    });
    const { insert } = database;
    const row = (outcome: MessageOutcome, version: number) => ({
      ...{ ...outcome, version, planned_at: isoTime(outcome.planned_at) },
      finished_at: isoTime(outcome.finished_at),
    });
    // Written twice: the later record wins.
    await insert('messages', [row({ ...OUTCOME, attempts: 1 }, 1)]);
    await insert('messages', [row(OUTCOME, 2)]);
    const other = { ...OUTCOME, person_id: 'ali', user_id: 'ali', message_id: `${ID}0` };
    await insert('messages', [row(other, 1)]);
    await insert(
      'campaign_recipients',
      [1, 2].map((attempt) => ({
        ...{ account_id: 1, run_id: 12, attempt, key: KEY, person_id: 'sara', user_id: 's-7' },
        ...{ is_control: attempt === 1, frozen_at: isoTime(NOW - 3 * HOUR) },
      })),
    );
    const event = (name: string, more: object) => ({
      ...{ account_id: 1, event: name, type: 'track', user_id: 'sara', source: 'platform' },
      ...{ message_id: `e-${name}`, source_message_id: ID, timestamp: isoTime(NOW - HOUR) },
      ...{ received_at: isoTime(NOW - HOUR), ...more },
    });
    await insert('events', [
      event('message_sent', {}),
      event('message_sent', { message_id: 'forged', source: 'sdk' }),
      event('message_sent', { message_id: 'another', source_message_id: `${ID}0`, user_id: 'ali' }),
      event('message_opened', { is_bot: 1 }),
      event('message_clicked', { source: 'sdk', user_id: '', anonymous_id: 'device' }),
      event('order', { source_message_id: '', ...LATER, revenue: 70 }),
      event('order', {
        source_message_id: '',
        ...LATER,
        revenue: 30,
        message_id: 'o2',
        user_id: 'sara-2',
      }),
      event('order', {
        source_message_id: '',
        ...LATER,
        revenue: 5,
        message_id: 'o3',
        user_id: 'omid',
      }),
    ]);
    await insert('identities_flat', [{ account_id: 1, name: 'sara-2', canonical: 'sara' }]);
  });
  afterAll(() => database.close());

  it('is the person that the run froze, in the attempt that counts', async () => {
    const of = { accountId: 1, runId: 12, key: KEY };
    expect(await readFrozen(database.client, { ...of, attempt: 2 })).toEqual({
      ...{ personId: 'sara', userId: 's-7', isControl: false },
    });
    expect(await readFrozen(database.client, { ...of, attempt: 3 })).toBeUndefined();
  });

  it('is its last outcome', async () => {
    expect(await readStored(database.client, OF)).toEqual(OUTCOME);
    expect(await readStored(database.client, { ...OF, runId: 13 })).toBeUndefined();
  });

  it('is what the platform wrote about it, and clicks under any name', async () => {
    const from = NOW - 3 * HOUR;
    const events = await readEvents(database.client, { ...OF, distinctIds: ['sara'], from });
    expect(events.map(({ event, messageId, isBot }) => [event, messageId, isBot])).toEqual(
      expect.arrayContaining([
        ['message_sent', 'e-message_sent', false],
        ['message_opened', 'e-message_opened', true],
        ['message_clicked', 'e-message_clicked', false],
      ]),
    );
    expect(events).toHaveLength(3);
  });

  it.each([
    [24, { converted: true, revenue: 100 }],
    [1, { converted: false, revenue: 0 }],
  ])(
    'is whether its person converted within %d hours, under all names',
    async (hours, expected) => {
      const run = {
        id: 12,
        campaignId: 7,
        planned: 2,
        frozenAt: NOW - 3 * HOUR,
        hasControl: false,
      };
      const goal = { event: 'order', windowMs: hours * HOUR };
      const runs = [{ ...run, finishedAt: undefined, goal }];
      const conversion = readConversion(database.client, { key: OF, runs, now: NOW });
      expect(await conversion).toEqual(expected);
    },
  );
});

describe('why follows a transactional message on the stack', () => {
  const postgres = openPostgres();
  let receiver: BotReceiver;
  let host: MessageHost;
  beforeAll(async () => {
    receiver = await BotReceiver.listen();
    host = await MessageHost.start(receiver);
  }, 120_000);
  afterAll(async () => {
    await host.close();
    receiver.close();
  });

  it('to its outcome and its event, and knows no other', async () => {
    const owner = await MessageAccount.create(postgres, 'why-messages');
    const { accountId, managementKey } = owner.account;
    await owner.sender('bale', 'bale', { config: { url: receiver.url }, secret: 'bot-token' });
    await owner.chats('bale', ['sara']);
    const template = await owner.template('bale', { text: 'hello' });
    const key = `order-${Date.now()}`;
    const { body } = await host.post(managementKey, {
      ...{ user_id: 'sara', template_id: template, channel: 'bale', idempotency_key: key },
    });
    const id = `t${accountId}.${key}`;
    expect(body).toMatchObject({ message_id: id, status: 'sent' });
    const why = async () =>
      JSON.parse(await ravand('why', id, '--json')) as {
        verdict: string;
        account_id: number;
        stations: { station: string; state: string; says: string }[];
      };
    const answer = await eventually(
      { ms: 60_000, every: 1000, waitingFor: 'the event of the message' },
      async () => {
        const found = await why();
        const events = found.stations.find(({ station }) => station === 'events');
        return events?.state === 'done' ? found : undefined;
      },
    );
    expect(answer.account_id).toBe(accountId);
    expect(answer.verdict).toMatch(/^sent by bale at /);
    const of = ['--account', String(accountId), '--id'];
    expect(await admin('message', 'show', ...of, id)).toMatchObject({
      ...{ message_id: id, state: 'finished', status: 'sent', reason: null, attempts: 1 },
      ...{ channel: 'bale', template_id: template, provider: 'bale', unread: [] },
    });
    await expect(ravand('why', `t${accountId}.nobody-asked`)).rejects.toThrow(
      /never used that idempotency key/,
    );
    await expect(admin('message', 'show', ...of, 'paid-7')).rejects.toThrow(
      /expected the id of a message/,
    );
  });
});

describe('why follows a message of a campaign on the stack', () => {
  it('from the planner, while no dispatcher runs, to its outcome and its event', async () => {
    const owner = await MessageAccount.create(openPostgres(), 'why-campaign');
    const { accountId } = owner.account;
    const config = { url: `${readyStack().sandbox_url}/bale` };
    await owner.sender('bale', 'bale', { config, secret: '1:token' });
    const users = await identifyPeople(openClickhouse(), owner.account, 3);
    await owner.chats('bale', users);
    const template_id = await owner.template('bale', { text: 'hello' });
    const campaign = await TestCampaign.create(owner, {
      ...{ name: 'Winter', channel: 'bale', template_id, category: 'service' },
      audience: { trait: 'plan', op: 'eq', value: 'gold' },
    });
    const why = async (id: string) => {
      const { verdict, stations } = JSON.parse(await ravand('why', id, '--json')) as {
        verdict: string;
        stations: { station: string; state: string; says: string }[];
      };
      const says = (name: string) => {
        const found = stations.find(({ station }) => station === name);
        return `${found?.state ?? 'no station'}: ${found?.says ?? ''}`;
      };
      return { verdict, says };
    };
    await ravand('stop', 'dispatcher');
    let id: string;
    try {
      const runId = await campaign.send();
      const key = personKey(users[0] ?? '');
      id = campaignMessageId({ campaignId: campaign.id, runId, key });
      await eventually(
        { ms: 60_000, every: 1000, waitingFor: 'the planner to write the chunk' },
        async () =>
          (await why(id)).says('chunk').startsWith('waiting: in messages.planned')
            ? true
            : undefined,
      );
      const waiting = await why(id);
      expect(waiting.verdict).toMatch(/^it waits/);
      expect(waiting.says('audience')).toMatch(/^done: .* with 3 people; person-0/);
    } finally {
      await ravand('start', 'dispatcher');
    }
    const sent = await eventually(
      { ms: 90_000, every: 1000, waitingFor: 'the event of the message' },
      async () => {
        const found = await why(id);
        return found.says('events').startsWith('done') ? found : undefined;
      },
    );
    expect(sent.verdict).toMatch(/^sent by bale at /);
    expect(sent.says('campaign')).toContain(`"Winter" of account ${accountId}`);
    const nobody = campaignMessageId({
      ...{ campaignId: campaign.id, runId: Number(id.split('.')[1]), key: personKey('nobody') },
    });
    await expect(ravand('why', nobody)).rejects.toThrow(/nobody with the key/);
  });
});
