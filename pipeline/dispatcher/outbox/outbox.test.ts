import type { KeyObject } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { transactionalMessageId } from '../../../events/messages/message-id.ts';
import { outcomeEventId } from '../../../events/messages/platform-event.ts';
import type { LogRecord } from '../../../ingest/log-record.ts';
import { frameOutcomes } from '../../../messaging/outcomes/outcome-frames.ts';
import { createLog } from '../../../platform/log.ts';
import { readEventKey } from '../../../platform/messages/event-key.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { messageOutcomeCodec, rawRecordCodec } from '../../../schemas/codec.ts';
import { ERASED, type MessageOutcome } from '../../../schemas/records.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { OutboxStore } from './outbox-store.ts';
import { openOutbox, type Outbox } from './outbox.ts';

let postgres: MigratedDatabase;
let eventKey: KeyObject;
let published: LogRecord[];
/** Throws for records that Kafka refuses. */
let refuse: (records: readonly LogRecord[]) => void;
let opened: Outbox[];
/** Of the person `erased`. */
const erased = {
  outcome(record: Buffer): Buffer {
    if (!record.includes('erased')) return record;
    const read = messageOutcomeCodec.decode(record);
    const nobody = { message_id: '', person_id: '', user_id: '', status: ERASED };
    return messageOutcomeCodec.encode({ ...read, ...nobody });
  },
};

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060']);
  eventKey = await readEventKey(postgres.database);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await postgres.database.query('TRUNCATE message_outbox');
  [published, opened] = [[], []];
  refuse = () => undefined;
});
afterEach(() => Promise.all(opened.map((one) => one.stop())));

function open(owner: string): Outbox {
  const outbox = openOutbox({
    ...{ database: postgres.database, owner, registry: new Registry() },
    publisher: {
      publish: async (records) => {
        await Promise.resolve();
        refuse(records);
        published.push(...records);
        return [];
      },
      partitions: () => Promise.resolve(4),
    },
    log: createLog({ part: 'test', level: 'silent' }),
    ...{ random: () => 0, now: () => 9000, erased, idleMs: 100 },
  });
  opened.push(outbox);
  return outbox;
}

function outcome(person: string, more: Partial<MessageOutcome> = {}): MessageOutcome {
  return {
    ...{ account_id: 1, message_id: `c3.5.${person}`, campaign_id: 3, run_id: 5, template_id: 7 },
    ...{ template_version: 2, channel: 'email', category: 'marketing', person_id: person },
    ...{ user_id: person, address_hash: 'ab', status: 'sent', reason: '', provider: 'smtp' },
    ...{ provider_message_id: 'x', planned_at: 1000, finished_at: 2500, attempts: 1, ...more },
  };
}

async function add(outcomes: readonly (MessageOutcome | string)[], accountId = 1): Promise<void> {
  const records = outcomes.map((one) =>
    typeof one === 'string' ? Buffer.from(one) : messageOutcomeCodec.encode(one),
  );
  await postgres.database.query(
    'INSERT INTO message_outbox (account_id, outcomes) VALUES ($1, $2)',
    [accountId, frameOutcomes(records)],
  );
}

async function rows(): Promise<number> {
  const { rows } = await postgres.database.query<{ count: number }>(
    'SELECT count(*)::integer AS count FROM message_outbox',
  );
  return rows[0]?.count ?? 0;
}

const left = (count: number) => vi.waitFor(async () => expect(await rows()).toBe(count), 10_000);

const stored = () =>
  published
    .filter(({ topic }) => topic === TOPIC.messagesOutcomes)
    .map(({ value }) => messageOutcomeCodec.decode(value));

const events = () =>
  published
    .filter(({ topic }) => topic === TOPIC.raw)
    .flatMap(({ value }) => {
      const { body, items, source, account_id } = rawRecordCodec.decode(value);
      const { batch } = JSON.parse(body.toString()) as { batch: { event: string }[] };
      return items.map(({ at, message_id, generated, type }) => ({
        ...{ account_id, source, message_id, generated, type, event: batch[at]?.event },
      }));
    });

describe('the outbox', () => {
  it('writes outcomes as they are and the events about them, and removes the row', async () => {
    const [sent, skipped] = [outcome('a'), outcome('b', { status: 'skipped', reason: 'merged' })];
    const failed = outcome('c', { status: 'failed', reason: 'deadline' });
    await add([sent, skipped, failed]);
    open('one').start();
    await left(0);
    expect(stored()).toEqual([sent, skipped, failed]);
    const common = { account_id: 1, source: 'platform', generated: false, type: 'track' };
    expect(events().sort((a, b) => (a.event ?? '').localeCompare(b.event ?? ''))).toEqual([
      { ...common, event: 'message_failed', message_id: outcomeEventId(failed, eventKey) },
      { ...common, event: 'message_sent', message_id: outcomeEventId(sent, eventKey) },
    ]);
  });

  it('publishes nothing of erased people: an outcome without a name, and no event', async () => {
    await add([outcome('a'), outcome('erased')]);
    open('one').start();
    await left(0);
    expect(stored().map(({ status, user_id }) => [status, user_id])).toEqual([
      ['sent', 'a'],
      [ERASED, ''],
    ]);
    expect(events()).toMatchObject([{ message_id: outcomeEventId(outcome('a'), eventKey) }]);
  });

  it('publishes transactional messages of other processes as well', async () => {
    const of = { accountId: 2, idempotencyKey: 'order-12345' };
    const sent = outcome('a', { account_id: 2, message_id: transactionalMessageId(of) });
    await add([{ ...sent, campaign_id: 0, run_id: 0 }], 2);
    open('one').start();
    await left(0);
    expect(events()).toMatchObject([{ account_id: 2, event: 'message_sent' }]);
  });

  it('publishes what is added later, once it is notified or soon after', async () => {
    const outbox = open('one');
    outbox.start();
    await add([outcome('a')]);
    outbox.notify();
    await left(0);
    await add([outcome('b')]);
    await left(0);
    expect(stored().map(({ user_id }) => user_id)).toEqual(['a', 'b']);
  });

  it('keeps rows until Kafka has their outcomes and their events', async () => {
    await add([outcome('a')]);
    let isUp = false;
    refuse = (records) => {
      if (!isUp && records.some(({ topic }) => topic === TOPIC.raw)) throw new Error('no broker');
    };
    open('one').start();
    await vi.waitFor(() => expect(stored().length).toBeGreaterThan(0), 10_000);
    expect(await rows()).toBe(1);
    isUp = true;
    await postgres.database.query('UPDATE message_outbox SET leased_until = now()');
    await vi.waitFor(async () => {
      await postgres.database.query('UPDATE message_outbox SET leased_until = now()');
      expect(await rows()).toBe(0);
    }, 10_000);
    expect(new Set(events().map(({ message_id }) => message_id))).toEqual(
      new Set([outcomeEventId(outcome('a'), eventKey)]),
    );
  });

  it('writes the same again to the same partition when a process died before it removed the row', async () => {
    await add([outcome('a')]);
    const crashed = new OutboxStore(postgres.database, 'dead');
    expect(await crashed.lease({ rows: 9, ms: 0 })).toHaveLength(1);
    open('one').start();
    await left(0);
    const [first] = published;
    published = [];
    await add([outcome('a')]);
    await left(0);
    expect(published[0]).toEqual(first);
  });

  it('leaves rows to the process that leased them, and takes them over when the lease ends', async () => {
    await add([outcome('a')]);
    const store = new OutboxStore(postgres.database, 'other');
    await store.lease({ rows: 9, ms: 60_000 });
    await add([outcome('b')]);
    open('one').start();
    await left(1);
    expect(stored().map(({ user_id }) => user_id)).toEqual(['b']);
    await postgres.database.query('UPDATE message_outbox SET leased_until = now()');
    await left(0);
  });

  it('shares rows between processes: each is published once', async () => {
    for (let at = 0; at < 150; at++) await add([outcome(`p${at}`)]);
    for (const owner of ['one', 'two', 'three']) open(owner).start();
    await left(0);
    expect(stored()).toHaveLength(150);
    expect(new Set(stored().map(({ user_id }) => user_id)).size).toBe(150);
  });

  it('publishes all other rows when one of them is refused, and tries that one later', async () => {
    for (let at = 0; at < 20; at++) await add([outcome(at === 4 ? 'poison' : `p${at}`)]);
    let isRefused = true;
    refuse = (records) => {
      const isPoison = records.some(
        ({ topic, value }) =>
          topic === TOPIC.messagesOutcomes &&
          messageOutcomeCodec.decode(value).user_id === 'poison',
      );
      if (isPoison && isRefused) throw new Error('message too large');
    };
    open('one').start();
    await left(1);
    expect(stored()).toHaveLength(19);
    isRefused = false;
    await postgres.database.query('UPDATE message_outbox SET leased_until = now()');
    await left(0);
    expect(stored()).toHaveLength(20);
  });

  it('publishes what it can read, and keeps what it cannot', async () => {
    await add([outcome('a'), 'of a newer release', outcome('b')]);
    await add(['damaged']);
    await add([outcome('c')]);
    open('one').start();
    await left(2);
    expect(stored().map(({ user_id }) => user_id)).toEqual(['a', 'b', 'c']);
    const { rows } = await postgres.database.query<{ outcomes: Uint8Array; is_later: boolean }>(
      'SELECT outcomes, leased_until > now() AS is_later FROM message_outbox ORDER BY id',
    );
    expect(rows.map(({ outcomes }) => Buffer.from(outcomes))).toEqual([
      frameOutcomes([Buffer.from('of a newer release')]),
      frameOutcomes([Buffer.from('damaged')]),
    ]);
    expect(rows.every(({ is_later }) => is_later)).toBe(true);
  });

  it('ends after the rows that it is publishing, and gives none up', async () => {
    for (let at = 0; at < 10; at++) await add([outcome(`p${at}`)]);
    const outbox = open('one');
    outbox.start();
    await vi.waitFor(() => expect(published.length).toBeGreaterThan(0), 10_000);
    await outbox.stop();
    expect(await rows()).toBe(0);
  });
});
