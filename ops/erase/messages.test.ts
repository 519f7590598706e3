import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ErasedPeople, idHash } from '../../events/erasure/erased-people.ts';
import { personKey } from '../../events/messages/message-id.ts';
import { frameOutcomes, splitOutcomes } from '../../messaging/outcomes/outcome-frames.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { messageChunkCodec, messageOutcomeCodec } from '../../schemas/codec.ts';
import type { MessageChunk, MessageOutcome } from '../../schemas/records.ts';
import { eraseMessages } from './messages.ts';

const KEY = Buffer.alloc(32, 7);
const NAMES = ['sara', 'sara-2'];
const UNTIL = Date.UTC(2026, 0, 1);
const erased = new ErasedPeople(
  [
    {
      ...{ id: 1, accountId: 1, keyId: 1, requestedAt: 0, messagesUntil: UNTIL },
      ...{ cuts: [], addresses: [] },
      names: NAMES.map((name) => idHash(KEY, 1, name).toString('hex')),
    },
  ],
  new Map([[1, KEY]]),
);

let postgres: MigratedDatabase;
beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0014', '0053', '0060', '0065']);
  await postgres.database.query("SET session_replication_role = 'replica'");
}, 60_000);
afterAll(() => postgres.close());

async function rows<T>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await postgres.database.query(text, values)).rows as T[];
}

const CHUNK: MessageChunk = {
  ...{ account_id: 1, campaign_id: 2, run_id: 5, chunk: 0, planned_at: UNTIL - 1 },
  first_key: personKey('ali'),
  recipients: ['ali', 'sara', 'mina'].map((person_id) => ({
    ...{ key: personKey(person_id), person_id, user_id: person_id, is_control: false },
  })),
};

function outcomeOf(person: string, more: Partial<MessageOutcome> = {}): MessageOutcome {
  return {
    ...{ account_id: 1, message_id: `c2.5.${personKey(person)}`, campaign_id: 2, run_id: 5 },
    ...{ template_id: 7, template_version: 1, channel: 'email', category: 'marketing' },
    ...{ person_id: person, user_id: person, address_hash: 'ab', status: 'sent', reason: '' },
    ...{ provider: 'smtp', provider_message_id: '<x>', planned_at: UNTIL - 1 },
    ...{ finished_at: UNTIL, attempts: 1, ...more },
  };
}

const framed = (...outcomes: MessageOutcome[]) =>
  frameOutcomes(outcomes.map((outcome) => messageOutcomeCodec.encode(outcome)));

const TABLES =
  'message_chunks, campaign_runs, message_outbox, transactional_messages, message_caps, campaign_run_merged, short_links, message_recipients, campaign_run_counts, message_totals';

beforeEach(async () => {
  await rows(`TRUNCATE ${TABLES} CASCADE`);
  await rows(
    `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, created_at, is_planned, last_key)
     VALUES (5, 2, 1, 'send', 'sending', now(), '{}', 1, to_timestamp(0), true, $1)`,
    [personKey('sara')],
  );
  await rows(
    `INSERT INTO message_chunks (run_id, chunk, account_id, campaign_id, channel, record, recipients, first_key, opened, finished, fence)
     VALUES (5, 0, 1, 2, 'email', $1, 3, $2, '\\x00', '\\x00', 3)`,
    [messageChunkCodec.encode(CHUNK), CHUNK.first_key],
  );
  await rows('INSERT INTO message_outbox (account_id, outcomes) VALUES (1, $1)', [
    framed(
      outcomeOf('ali'),
      outcomeOf('sara-2', { message_id: 't1.order-12', campaign_id: 0, run_id: 0 }),
    ),
  ]);
  for (const key of ['order-12', 'order-13', 'order-14'])
    await rows(
      `INSERT INTO transactional_messages (account_id, idempotency_key, fence, reserved_at, result) VALUES (1, $1, 1, to_timestamp(0), '{}')`,
      [key],
    );
  for (const person of ['sara', 'ali']) {
    const key = personKey(person);
    await rows(
      `INSERT INTO message_caps (account_id, channel, person, reserved, expires_at) VALUES (1, 'email', $1, '{}', now())`,
      [key],
    );
    await rows(
      'INSERT INTO campaign_run_merged (run_id, person, sends_as) VALUES (5, $1, $1), (6, $1, $1)',
      [key],
    );
    await rows(
      `INSERT INTO message_recipients (account_id, ref, user_id, channel, campaign_id, message_id, address, created_at)
       VALUES (1, $1, $2, 'email', 2, 'm', 'a@b.ir', to_timestamp(1))`,
      [Buffer.from(person.padEnd(12)), person],
    );
    await rows(
      `INSERT INTO short_links (code, account_id, target, created_at) VALUES ($1, 1, $2, to_timestamp(1))`,
      [person === 'sara' ? 'AAAAAAA' : 'AAAAAAB', `https://x.ir/?sg_mid=c2.5.${key}&utm_source=s`],
    );
  }
  for (const [code, key] of [
    ['AAAAAAC', 'order-13'],
    ['AAAAAAD', 'order-131'],
  ])
    await rows(
      `INSERT INTO short_links (code, account_id, target, created_at) VALUES ($1, 1, $2, to_timestamp(1))`,
      [code, `https://x.ir/?sg_mid=t1.${key}#top`],
    );
  await rows("INSERT INTO message_totals VALUES (1, 'planned', 3), (1, 'sent', 1)");
  await rows("INSERT INTO campaign_run_counts VALUES (5, 'sent', '', 1)");
});

class Killed extends Error {}

/** Runs the removal; the process is killed at its nth call of a store. */
async function erase(options: { killAt?: number; signal?: AbortSignal } = {}): Promise<void> {
  const { killAt = Number.POSITIVE_INFINITY, signal = new AbortController().signal } = options;
  let calls = 0;
  const step = <T>(work: () => T): Promise<Awaited<T>> | Promise<never> => {
    if (++calls === killAt) return Promise.reject(new Killed());
    return Promise.resolve(work());
  };
  const database = {
    query: (text: string, values: unknown[]) => step(() => postgres.database.query(text, values)),
  } as unknown as Parameters<typeof eraseMessages>[0]['database'];
  await eraseMessages(
    { database },
    {
      person: { accountId: 1, names: NAMES, erased },
      rows: {
        tables: (kind) => step(() => [kind]),
        messagesWhere: (kind) => step(() => kind),
        // What ClickHouse holds of the person leads to this message until it is removed.
        messageIds: () => step(() => (isStored ? ['t1.order-13'] : [])),
        blankRecipients: (_, where) => step(() => audiences.push(`emptied: ${where}`)),
        delete: (table, where) =>
          step(() => {
            if (table === 'recipients') audiences.push(`removed: ${where}`);
            if (table === 'messages') isStored = false;
            return 1;
          }),
      },
      end: () => step(() => UNTIL),
      clock: () => step(() => new Date().toISOString()),
      signal,
      ...{ report: () => undefined, waits: () => undefined },
    },
  );
}
let isStored: boolean;
/** What happened to rows of frozen audiences. */
let audiences: string[];
beforeEach(() => {
  isStored = true;
  audiences = [];
});

async function chunkNow(): Promise<{ record: MessageChunk; first_key: string; fence: number }> {
  const [row] = await rows<{ record: Buffer; first_key: string; fence: string }>(
    'SELECT record, first_key, fence FROM message_chunks',
  );
  if (!row) throw new Error('the chunk is gone');
  const record = messageChunkCodec.decode(Buffer.from(row.record));
  return { record, first_key: row.first_key, fence: Number(row.fence) };
}

async function expectErased(): Promise<void> {
  const { record, first_key } = await chunkNow();
  expect(record.recipients.map(({ person_id }) => person_id)).toEqual(['ali', '', 'mina']);
  expect(first_key).toBe(CHUNK.first_key);
  const [outbox] = await rows<{ outcomes: Buffer }>('SELECT outcomes FROM message_outbox');
  const outcomes = splitOutcomes(Buffer.from(outbox?.outcomes ?? '')).map((one) =>
    messageOutcomeCodec.decode(one),
  );
  expect(outcomes.map(({ person_id, status }) => [person_id, status])).toEqual([
    ['ali', 'sent'],
    ['', 'erased'],
  ]);
  const ali = personKey('ali');
  expect(await rows('SELECT person FROM message_caps')).toEqual([{ person: ali }]);
  expect(
    await rows('SELECT run_id::int, person FROM campaign_run_merged WHERE run_id = 5'),
  ).toEqual([{ run_id: 5, person: ali }]);
  expect(await rows('SELECT user_id FROM message_recipients')).toEqual([{ user_id: 'ali' }]);
  const codes = await rows<{ code: string }>('SELECT code FROM short_links ORDER BY code');
  expect(codes.map(({ code }) => code)).toEqual(['AAAAAAB', 'AAAAAAD']);
  expect(await rows('SELECT last_key FROM campaign_runs WHERE id = 5')).toEqual([{ last_key: '' }]);
}

const keysLeft = async () =>
  (
    await rows<{ idempotency_key: string }>(
      'SELECT idempotency_key FROM transactional_messages ORDER BY 1',
    )
  ).map(({ idempotency_key }) => idempotency_key);

describe('the messages of an erased person', () => {
  it('leave queues, caps, links and recipients, and others keep theirs', async () => {
    await erase();
    await expectErased();
    expect(await keysLeft()).toEqual(['order-14']);
  });

  it('leave audiences; those of runs that send keep a row, which the log may need again', async () => {
    await rows(
      `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version)
       VALUES (6, 2, 1, 'send', 'finished', now(), '{}', 1), (7, 2, 2, 'send', 'sending', now(), '{}', 1)`,
    );
    await erase();
    expect(audiences).toEqual([
      'emptied: recipients AND run_id IN (0, 5)',
      'removed: recipients AND NOT (run_id IN (0, 5))',
    ]);
  });

  it('stay counted', async () => {
    await erase();
    const totals = await rows('SELECT status, messages::int FROM message_totals ORDER BY status');
    expect(totals).toEqual([
      { status: 'planned', messages: 3 },
      { status: 'sent', messages: 1 },
    ]);
    expect(await rows('SELECT messages::int FROM campaign_run_counts')).toEqual([{ messages: 1 }]);
    expect((await chunkNow()).record.recipients).toHaveLength(3);
  });

  it('are removed by the next command when the process was killed at any call', async () => {
    let killed = 0;
    for (let killAt = 1; ; killAt++) {
      const isKilled = await erase({ killAt }).then(
        () => false,
        (error: unknown) => error instanceof Killed,
      );
      if (!isKilled) break;
      killed++;
    }
    expect(killed).toBeGreaterThan(10);
    await erase();
    await expectErased();
    expect(await keysLeft()).toEqual(['order-14']);
  });
});

const lease = (opened: string, finished: string) =>
  rows(
    `UPDATE message_chunks SET leased_by = 'd', leased_until = now() + interval '1 minute', opened = decode($1, 'hex'), finished = decode($2, 'hex')`,
    [opened, finished],
  );

describe('a chunk that a dispatcher has leased', () => {
  it.each([
    ['has not opened the person', '05', '00'],
    ['has finished the person', '07', '02'],
  ])('loses the person and keeps its lease when it %s', async (_, opened, finished) => {
    await lease(opened, finished);
    await erase();
    await expectErased();
    expect((await chunkNow()).fence).toBe(3);
    expect(await rows('SELECT leased_by FROM message_chunks')).toEqual([{ leased_by: 'd' }]);
  });

  it('keeps the person until the open call of theirs has ended', async () => {
    await lease('02', '00');
    const stop = new AbortController();
    const erasing = erase({ signal: stop.signal });
    const ended = erasing.then(
      () => 'ended',
      () => 'aborted',
    );
    await expect.poll(async () => (await rows('SELECT 1 FROM message_chunks')).length).toBe(1);
    const first = await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1500))]);
    expect(first).toBeUndefined();
    expect((await chunkNow()).record.recipients[1]?.person_id).toBe('sara');
    await rows(`UPDATE message_chunks SET finished = '\\x02'`);
    expect(await ended).toBe('ended');
    await expectErased();
  });

  it('loses the person when its lease ran out in the middle of a call', async () => {
    await lease('02', '00');
    await rows(`UPDATE message_chunks SET leased_until = now() - interval '1 second'`);
    await erase();
    await expectErased();
  });
});

it('an erasure waits for an audience that is being frozen, and for messages that are being sent', async () => {
  await rows(
    `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, leased_by, leased_until)
     VALUES (6, 2, 1, 'send', 'planning', now(), '{}', 1, 'p', now() + interval '1 minute')`,
  );
  await rows(
    "INSERT INTO transactional_messages (account_id, idempotency_key, fence) VALUES (1, 'order-15', 1)",
  );
  const waiting = erase();
  let isDone = false;
  void waiting.then(() => (isDone = true));
  await new Promise((resolve) => setTimeout(resolve, 300));
  await rows(
    "UPDATE campaign_runs SET frozen_at = now(), state = 'sending', is_planned = true WHERE id = 6",
  );
  await new Promise((resolve) => setTimeout(resolve, 1200));
  expect(isDone).toBe(false);
  await rows("UPDATE transactional_messages SET result = '{}' WHERE idempotency_key = 'order-15'");
  await waiting;
  await expectErased();
});
