import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  campaignMessageId,
  parseMessageId,
  personKey,
} from '../../../events/messages/message-id.ts';
import { frameOutcomes } from '../../../messaging/outcomes/outcome-frames.ts';
import { emptyBits, withBits } from '../../../pipeline/dispatcher/chunk/bits.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { messageChunkCodec, messageOutcomeCodec } from '../../../schemas/codec.ts';
import type { MessageOutcome } from '../../../schemas/records.ts';
import { shownMessage } from '../../admin/message-show.ts';
import { explainMessage, unknownMessage } from './explain-message.ts';
import { gatherMessage, type MessageSources } from './gather-message.ts';

let postgres: MigratedDatabase;
beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0053', '0060']);
}, 60_000);
afterAll(() => postgres.close());

const NOW = Date.now();
const PEOPLE = ['ali', 'sara', 'omid'].toSorted((a, b) => (personKey(a) < personKey(b) ? -1 : 1));
const SARA = PEOPLE.indexOf('sara');
const ID = campaignMessageId({ campaignId: 7, runId: 12, key: personKey('sara') });
const DEFINITION = {
  ...{ name: 'Winter', channel: 'sms', template_id: 3, template_version: 2 },
  ...{ category: 'marketing', control_percent: 10, goal: { event: 'order', window_hours: 24 } },
};
const OUTCOME: MessageOutcome = {
  ...{ account_id: 1, message_id: ID, campaign_id: 7, run_id: 12, template_id: 3 },
  ...{ template_version: 2, channel: 'sms', category: 'marketing', person_id: 'sara' },
  ...{ user_id: 'sara', address_hash: 'ab', status: 'sent', reason: '', provider: 'kavenegar' },
  ...{ provider_message_id: 'k-1', planned_at: NOW - 60_000, finished_at: NOW - 5000, attempts: 2 },
};
const FROZEN = { personId: 'sara', userId: 'sara', isControl: false };

beforeEach(async () => {
  const { database } = postgres;
  const tables =
    'message_chunks, message_outbox, message_senders, message_settings, message_recipients, transactional_messages, campaign_runs, campaigns, accounts';
  await database.query(`TRUNCATE ${tables} CASCADE`);
  await database.query("INSERT INTO accounts (id, name) VALUES (1, 'a')");
  await database.query(
    `INSERT INTO campaigns (id, account_id, name, channel, definition, status) VALUES (7, 1, 'Winter', 'sms', $1, 'sending')`,
    [JSON.stringify(DEFINITION)],
  );
  await database.query(
    `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, freeze_attempt, frozen_at, planned, chunks, last_key, is_planned)
     VALUES (12, 7, 1, 'send', 'sending', now(), $1, 1, 1, now(), 3, 1, 'ffff', true)`,
    [JSON.stringify(DEFINITION)],
  );
  await database.query(
    `INSERT INTO message_senders (account_id, channel, provider, config) VALUES (1, 'sms', 'kavenegar', '{"max_per_second": 5}')`,
  );
});

/** The run's only chunk; `bits` are those of sara. */
async function addChunk(
  bits: { opened?: boolean; finished?: boolean; retryAt?: number; nextAt?: number } = {},
): Promise<void> {
  const set = (is = false) => withBits(emptyBits(3), { set: is ? [SARA] : [] });
  const retries =
    bits.retryAt === undefined ? [] : [{ index: SARA, attempts: 2, at: bits.retryAt }];
  const record = messageChunkCodec.encode({
    ...{ account_id: 1, campaign_id: 7, run_id: 12, chunk: 0, planned_at: NOW - 60_000 },
    first_key: personKey(PEOPLE[0] ?? ''),
    recipients: PEOPLE.map((person) => ({
      ...{ key: personKey(person), person_id: person, user_id: person, is_control: false },
    })),
  });
  await postgres.database.query(
    `INSERT INTO message_chunks (run_id, chunk, account_id, campaign_id, channel, record, recipients, first_key, opened, opened_with, finished, retries, next_at)
     VALUES (12, 0, 1, 7, 'sms', $1, 3, $2, $3, 'kavenegar:4', $4, $5, to_timestamp($6::float8 / 1000))`,
    [
      ...[record, personKey(PEOPLE[0] ?? ''), set(bits.opened), set(bits.finished)],
      ...[JSON.stringify(retries), bits.nextAt ?? NOW - 1000],
    ],
  );
}

const run = (changes: string) =>
  postgres.database.query(`UPDATE campaign_runs SET ${changes} WHERE id = 12`);

interface Given {
  /** What ClickHouse has. */
  rows?: { campaign_recipients?: object[]; messages?: object[]; events?: object[] };
  sources?: Partial<MessageSources>;
  obstacles?: Partial<NonNullable<MessageSources['obstacles']>>;
  id?: string;
}

const down = () => Promise.reject(new Error('refused'));

async function why({
  rows = { campaign_recipients: [FROZEN] },
  sources = {},
  obstacles = {},
  id = ID,
}: Given = {}) {
  const parsed = parseMessageId(id);
  if (!parsed) throw new Error('no id of a message');
  // Its statements are tested against ClickHouse itself: test/integration/messages/why.test.ts.
  const query = ({ query: sql }: { query: string }) => {
    const table = /FROM (campaign_recipients|messages|events)\b/.exec(sql)?.[1];
    const found = rows[table as keyof typeof rows] ?? [];
    return Promise.resolve({ json: () => Promise.resolve(found) });
  };
  const evidence = await gatherMessage(
    {
      ...{ database: postgres.database, clickhouse: { query } as unknown as ClickHouseClient },
      obstacles: {
        ...{ consentLag: () => Promise.resolve(0), senderPhase: () => Promise.resolve(undefined) },
        ...obstacles,
      },
      ...sources,
    },
    { messageId: id, id: parsed, now: NOW },
  );
  const { verdict, stages } = explainMessage(evidence);
  const says = (name: string) => {
    const stage = stages.find((one) => one.name === name);
    return `${stage?.state ?? 'no stage'}: ${stage?.message ?? ''}`;
  };
  return { verdict, says, unknown: unknownMessage(evidence), evidence };
}

describe('why a message of a campaign is where it is', () => {
  it('names campaign, template, run and audience of one that waits for its turn', async () => {
    await addChunk();
    const { verdict, says, unknown } = await why();
    expect(unknown).toBeUndefined();
    expect(verdict).toBe('it waits: it is due and waits for its turn');
    expect(says('campaign')).toBe(
      'done: campaign 7 "Winter" of account 1, sending: sms, marketing, template 3 version 2, goal order within 24 h',
    );
    expect(says('audience')).toMatch(
      /^done: frozen .* with 3 people; sara, in the treatment group \(control 10%\)$/,
    );
    expect(says('chunk')).toBe(`done: chunk 0, recipient ${SARA + 1} of 3`);
    expect(says('outcome')).toBe('absent: none yet');
  });

  it.each<[string, () => Promise<unknown>, Given['obstacles'], RegExp]>([
    ['a paused run', () => run('paused = true'), {}, /the run is paused/],
    ['a cancelled run', () => run('cancelled = true'), {}, /it ends as skipped/],
    [
      'a suspended account',
      () => postgres.database.query("UPDATE accounts SET status = 'suspended'"),
      {},
      /the account is suspended/,
    ],
    [
      'quiet hours',
      () =>
        postgres.database.query(
          `INSERT INTO message_settings (account_id, settings) VALUES (1, '{"quiet_hours":"00:00-23:59"}')`,
        ),
      {},
      /quiet hours until/,
    ],
    [
      'consents that are behind',
      () => Promise.resolve(),
      { consentLag: () => Promise.resolve(95_000) },
      /consents are 95 s behind/,
    ],
    [
      'consents of which nobody knows how old they are',
      () => Promise.resolve(),
      { consentLag: () => Promise.resolve(Infinity) },
      /Kafka does not answer/,
    ],
    [
      'a sender that its provider refuses',
      () =>
        postgres.database.query(
          `UPDATE message_senders SET broken_reason = 'no credit', broken_at = now()`,
        ),
      {},
      /has refused the sender since .*: no credit/,
    ],
    [
      'an open breaker',
      () => Promise.resolve(),
      { senderPhase: () => Promise.resolve({ phase: 'open', openCalls: 0 }) },
      /breaker of its sender is open/,
    ],
    [
      'a dispatcher that does not answer',
      () => Promise.resolve(),
      { senderPhase: down },
      /is not known: the dispatcher does not answer \(refused\)/,
    ],
    [
      'the rate of its sender',
      () =>
        postgres.database.query(
          `INSERT INTO message_sender_rates (account_id, channel, used_until) VALUES (1, 'sms', now() + interval '1 minute') ON CONFLICT DO NOTHING`,
        ),
      {},
      /the rate of its sender \(5 a second\) is used up/,
    ],
  ])('says that it waits because of %s', async (_, change, obstacles, expected) => {
    await addChunk();
    await change();
    const { verdict, says } = await why({ obstacles: obstacles ?? {} });
    expect(verdict).toMatch(/^it waits: /);
    expect(says('sending')).toMatch(/^waiting/);
    expect(says('sending')).toMatch(expected);
  });

  it('shows attempts and when it is tried again', async () => {
    await addChunk({ retryAt: NOW + 30_000 });
    expect((await why()).says('sending')).toMatch(
      /^waiting: 2 attempts, the next one in 30 s; .*it is tried again/,
    );
  });

  it('shows an attempt whose provider is being called', async () => {
    await addChunk({ opened: true });
    const { verdict, says } = await why();
    expect(verdict).toBe('a provider is being called, or was when its process died');
    expect(says('sending')).toMatch(/its attempt by kavenegar:4 is recorded and has no outcome/);
  });

  it('tells a chunk that the planner has not written from one that is not copied yet', async () => {
    expect((await why()).says('chunk')).toMatch(/^waiting: in messages.planned/);
    await run("is_planned = false, last_key = '0000', state = 'planning'");
    expect((await why()).says('chunk')).toMatch(/^waiting: not written yet: .* 1 chunks/);
  });

  it.each([
    ["state = 'scheduled', due_at = now() + interval '1 hour', frozen_at = NULL", /the run begins/],
    ["state = 'confirm', frozen_at = NULL", /waits for a person/],
    ["state = 'planning', frozen_at = NULL", /the audience is being computed/],
  ])('says what its run waits for: %s', async (changes, expected) => {
    await run(changes);
    expect((await why({ rows: {} })).verdict).toMatch(expected);
  });

  it('says that a missed run sends nothing', async () => {
    await run("state = 'missed', frozen_at = NULL");
    expect((await why({ rows: {} })).verdict).toBe('it is not sent: the run was missed');
  });

  it('shows an outcome that is only in the outbox', async () => {
    await addChunk({ opened: true, finished: true });
    const other = { ...OUTCOME, message_id: 'other' };
    await postgres.database.query(
      'INSERT INTO message_outbox (account_id, outcomes) VALUES (1, $1)',
      [frameOutcomes([other, OUTCOME].map((one) => messageOutcomeCodec.encode(one)))],
    );
    const { verdict, says } = await why();
    expect(verdict).toMatch(/^sent by kavenegar at /);
    expect(says('outcome')).toMatch(
      /^waiting: sent by kavenegar after 2 attempts, .*, sms, template 3 version 2, its id there is k-1; in the outbox/,
    );
    expect(says('events')).toMatch(/^waiting: message_sent is on its way/);
  });

  it('shows an outcome that is neither in the outbox nor in ClickHouse as on its way', async () => {
    await addChunk({ opened: true, finished: true });
    expect((await why()).verdict).toBe('it has an outcome, which is on its way to ClickHouse');
  });

  it('follows one that was sent to its opens and clicks, when its chunk is gone, too', async () => {
    const at = (event: string, more: object = {}) => ({
      ...{
        event,
        messageId: `e-${event}`,
        source: 'platform',
        isBot: false,
        timestamp: NOW - 4000,
      },
      ...more,
    });
    const events = [
      at('message_sent'),
      at('message_opened', { isBot: true }),
      at('message_clicked', { source: 'sdk' }),
    ];
    const rows = { campaign_recipients: [FROZEN], messages: [OUTCOME], events };
    const { verdict, says } = await why({ rows });
    expect(verdict).toMatch(/^sent by kavenegar at /);
    expect(says('chunk')).toBe('done: it has left the queue of the dispatcher');
    expect(says('events')).toMatch(/^done: message_sent .*event e-message_sent/);
    expect(says('opened')).toMatch(/^done: by a mail proxy or a bot only/);
    expect(says('clicked')).toMatch(/^done: once/);
  });

  it('says why one was skipped, and that it has no event', async () => {
    const skipped = { ...OUTCOME, status: 'skipped', reason: 'unsubscribed', provider: '' };
    const { verdict, says } = await why({ rows: { messages: [skipped] } });
    expect(verdict).toMatch(/^skipped: unsubscribed at /);
    expect(says('events')).toBe('absent: a skipped message has no event');
  });

  it('answers from PostgreSQL alone while ClickHouse is down, and names it', async () => {
    await addChunk();
    const { verdict, says, unknown } = await why({
      sources: { clickhouse: { query: down } as unknown as ClickHouseClient },
    });
    expect(unknown).toBeUndefined();
    expect(verdict).toMatch(/^it waits/);
    expect(says('outcome')).toBe('unavailable: unavailable: ClickHouse does not answer (refused)');
  });

  it('says that nothing is known while PostgreSQL is down', async () => {
    const database = { query: down } as unknown as MessageSources['database'];
    const { verdict, unknown } = await why({ sources: { database } });
    expect(unknown).toBeUndefined();
    expect(verdict).toBe('unknown: PostgreSQL does not answer (refused)');
  });

  it('knows that there is no such run, and no such person in its audience', async () => {
    const other = campaignMessageId({ campaignId: 7, runId: 13, key: personKey('sara') });
    expect((await why({ id: other })).unknown).toMatch(/campaign 7 has no run 13/);
    const nobody = campaignMessageId({ campaignId: 7, runId: 12, key: personKey('nobody') });
    expect((await why({ id: nobody, rows: {} })).unknown).toMatch(
      /run 12 of campaign 7 has 3 people, and nobody with the key/,
    );
  });
});

describe('why a transactional message is where it is', () => {
  const ID_OF_ORDER = 't1.order-1234';
  const reserve = (columns: string, values: string) =>
    postgres.database.query(
      `INSERT INTO transactional_messages (account_id, idempotency_key, fence${columns}) VALUES (1, 'order-1234', 5${values})`,
    );

  it('shows whether a provider was called', async () => {
    await reserve('', '');
    expect((await why({ id: ID_OF_ORDER, rows: {} })).verdict).toBe(
      'being prepared: no provider was called',
    );
    await postgres.database.query(
      "UPDATE transactional_messages SET opened_at = now(), opened_with = 'smtp:2'",
    );
    const { verdict, says } = await why({ id: ID_OF_ORDER, rows: {} });
    expect(verdict).toMatch(/^a provider is being called/);
    expect(says('request')).toMatch(
      /^waiting: idempotency key order-1234 of account 1.*smtp:2 was called/,
    );
  });

  it('shows its result while ClickHouse has no row of it', async () => {
    await reserve(
      ', finished_at, result',
      `, now(), '{"message_id":"t1.order-1234","channel":"sms","status":"skipped","reason":"suppressed"}'`,
    );
    expect((await why({ id: ID_OF_ORDER, rows: {} })).verdict).toBe('skipped: suppressed');
  });

  it('that nobody asked for is unknown', async () => {
    expect((await why({ id: ID_OF_ORDER, rows: {} })).unknown).toMatch(
      /account 1 never used that idempotency key/,
    );
  });
});

describe('admin message show', () => {
  it('shows the attempts of one that is tried again', async () => {
    await addChunk({ retryAt: NOW + 30_000 });
    const { evidence } = await why();
    expect(shownMessage(evidence, 1)).toMatchObject({
      ...{ message_id: ID, account_id: 1, campaign_id: 7, run_id: 12, state: 'waiting' },
      ...{ template_id: 3, template_version: 2, channel: 'sms', category: 'marketing' },
      ...{ user_id: 'sara', control_group: false, status: null, reason: null, attempts: 2 },
      ...{ next_attempt_at: new Date(NOW + 30_000).toISOString(), finished_at: null, unread: [] },
    });
  });

  it('shows the outcome, with its reason for people', async () => {
    const failed = { ...OUTCOME, status: 'failed', reason: 'dead_address' };
    const { evidence } = await why({ rows: { messages: [failed] } });
    expect(shownMessage(evidence, 1)).toMatchObject({
      ...{ state: 'finished', status: 'failed', reason: 'dead_address', attempts: 2 },
      ...{ provider: 'kavenegar', provider_message_id: 'k-1' },
      reason_fa: 'نشانی این شخص دیگر وجود ندارد.',
    });
  });

  it('names the server that did not answer', async () => {
    await addChunk({ opened: true });
    const clickhouse = { query: down } as unknown as ClickHouseClient;
    const { evidence } = await why({ sources: { clickhouse } });
    expect(shownMessage(evidence, 1)).toMatchObject({
      ...{ state: 'open', opened_with: 'kavenegar:4', status: null },
      unread: ['ClickHouse does not answer (refused)'],
    });
  });

  it('knows no message of another account', async () => {
    const { evidence } = await why({ rows: { messages: [OUTCOME] } });
    expect(() => shownMessage(evidence, 2)).toThrow(`account 2 has no message ${ID}`);
  });
});
