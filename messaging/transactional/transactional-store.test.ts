import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { messageOutcomeCodec } from '../../schemas/codec.ts';
import type { MessageOutcome } from '../../schemas/records.ts';
import type { MessageResult } from './message-result.ts';
import type { Fenced } from './reservation.ts';
import { TransactionalStore } from './transactional-store.ts';

const HOUR = 3_600_000;
/** 24 Aban 1405. */
const NOW = Date.parse('2026-11-15T10:00:00Z');

let postgres: MigratedDatabase;
let store: TransactionalStore;
let fence = 0;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060']);
}, 30_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  for (const table of ['transactional_messages', 'message_meters', 'message_outbox'])
    await sql(`DELETE FROM ${table}`);
  store = new TransactionalStore(postgres.database, { staleMs: 60_000, retentionMs: 168 * HOUR });
});

async function sql<T>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await postgres.database.query(text, values)).rows as T[];
}
const later = (ms: number) =>
  sql(
    `UPDATE transactional_messages SET reserved_at = reserved_at - $1 * interval '1 millisecond', finished_at = finished_at - $1 * interval '1 millisecond'`,
    [ms],
  );

const keyOf = (idempotencyKey = 'order-1', accountId = 1): Fenced => ({
  ...{ accountId, idempotencyKey, fence: ++fence },
});
const outcome = (messageId: string, more: Partial<MessageOutcome> = {}): MessageOutcome => ({
  ...{ account_id: 1, message_id: messageId, campaign_id: 0, run_id: 0, template_id: 5 },
  ...{ template_version: 1, channel: 'sms', category: 'transactional', person_id: 'u' },
  ...{ user_id: 'u', address_hash: '', status: 'sent', reason: '', provider: 'kavenegar' },
  ...{ provider_message_id: '1', planned_at: NOW, finished_at: NOW, attempts: 1, ...more },
});
const result = (key: Fenced, more: Partial<MessageResult> = {}): MessageResult =>
  ({
    ...{ message_id: `t1.${key.idempotencyKey}`, channel: 'sms', status: 'sent', ...more },
  }) as MessageResult;
const complete = (key: Fenced, more: Partial<MessageOutcome> = {}) =>
  store.complete({
    ...key,
    result: result(key),
    outcome: outcome(`t1.${key.idempotencyKey}`, { account_id: key.accountId, ...more }),
  });
const reserve = (key: Fenced, as = '') => store.reserve(key, as);
async function reserved(key = keyOf(), as = ''): Promise<Fenced & { openedWith: string }> {
  const answer = await store.reserve(key, as);
  if (answer.kind !== 'reserved') throw new Error(`the key is ${answer.kind}`);
  return answer.reservation;
}

describe('a key', () => {
  it('is reserved by one request, and then its result is replayed', async () => {
    const key = await reserved();
    expect(await reserve(keyOf())).toEqual({ kind: 'in_flight' });
    expect(await complete(key)).toBe(true);
    const replay = await reserve(keyOf());
    expect(replay).toEqual({ kind: 'completed', result: result(key) });
  });

  it('of another account is another one', async () => {
    await reserved();
    expect((await reserve(keyOf('order-1', 2))).kind).toBe('reserved');
  });

  it('that many requests ask for at once is reserved by one of them', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => reserve(keyOf(at < 15 ? 'same' : `key-${at}`))),
    );
    const kinds = answers.map(({ kind }) => kind);
    expect(kinds.slice(0, 15).filter((kind) => kind === 'reserved')).toHaveLength(1);
    expect(kinds.slice(15)).toEqual(Array.from({ length: 5 }, () => 'reserved'));
  });

  it('can be taken again when its reservation is stale, and its former holder has lost it', async () => {
    const former = await reserved();
    await later(59_000);
    expect(await reserve(keyOf())).toEqual({ kind: 'in_flight' });
    await later(2000);
    const holder = await reserved(keyOf());
    expect(holder.openedWith).toBe('');
    expect(await store.open(former, 'smtp:1')).toBe(false);
    expect(await complete(former)).toBe(false);
    await store.unopen(former);
    await store.release(former, 'none');
    expect(await store.open(holder, 'smtp:2')).toBe(true);
    expect(await complete(holder)).toBe(true);
    expect(await complete(former)).toBe(false);
  });

  it('that is taken again says by what it was opened, until that is withdrawn', async () => {
    const former = await reserved();
    await store.open(former, 'smtp:1');
    await later(61_000);
    expect((await reserved(keyOf())).openedWith).toBe('smtp:1');
    await later(61_000);
    const third = await reserved(keyOf());
    expect(third.openedWith).toBe('smtp:1');
    await store.unopen(third);
    await later(61_000);
    expect((await reserved(keyOf())).openedWith).toBe('');
  });

  it('is reserved and opened at once, and remembers a former opening instead', async () => {
    const first = await reserved(keyOf(), 'smtp:1');
    expect(first.openedWith).toBe('');
    await later(61_000);
    // The first one died, and may have called its provider.
    const second = await reserved(keyOf(), 'smtp:1');
    expect(second.openedWith).toBe('smtp:1');
    await store.unopen(second);
    await later(61_000);
    const third = await reserved(keyOf(), 'smtp:2');
    expect(third.openedWith).toBe('');
    await complete(third);
    await later(169 * HOUR);
    const fourth = await reserved(keyOf(), 'smtp:3');
    expect(fourth.openedWith).toBe('');
    await later(61_000);
    expect((await reserved(keyOf())).openedWith).toBe('smtp:3');
  });

  it('whose holder called nothing is free, unless a former holder opened it', async () => {
    const first = await reserved(keyOf(), 'smtp:1');
    await store.release(first, 'former');
    const second = await reserved(keyOf(), 'smtp:1');
    expect(second.openedWith).toBe('');
    await later(61_000);
    const third = await reserved(keyOf(), 'smtp:1');
    await store.release(third, 'former');
    await store.release(third, 'former');
    expect((await reserved(keyOf())).openedWith).toBe('smtp:1');
  });

  it('is free at once when it is released, and remembers what may have been sent', async () => {
    const first = await reserved();
    await store.open(first, 'smtp:1');
    await store.release(first, 'none');
    const second = await reserved(keyOf());
    expect(second.openedWith).toBe('');
    await store.open(second, 'smtp:1');
    await store.release(second, 'call');
    await store.sweep(100);
    expect((await reserved(keyOf())).openedWith).toBe('smtp:1');
  });

  it('is new again after its retention', async () => {
    const first = await reserved();
    await store.open(first, 'smtp:1');
    await complete(first);
    await later(167 * HOUR);
    expect((await reserve(keyOf())).kind).toBe('completed');
    await later(2 * HOUR);
    expect((await reserved(keyOf())).openedWith).toBe('');
  });

  it('is forgotten after its retention, a bounded number at a time', async () => {
    for (const name of ['order-1', 'order-2', 'order-3'])
      await complete(await reserved(keyOf(name)));
    await reserved(keyOf('order-4'));
    await later(169 * HOUR);
    await reserved(keyOf('order-5'));
    expect(await store.sweep(3)).toBe(3);
    expect(await store.sweep(3)).toBe(1);
    expect(await store.sweep(3)).toBe(0);
  });
});

describe('a result', () => {
  it('is stored with its outcome and its meter', async () => {
    const [first, second, third, other] = await Promise.all([
      ...[reserved(keyOf('order-1')), reserved(keyOf('order-2'))],
      ...[reserved(keyOf('order-3')), reserved(keyOf('order-1', 2))],
    ] as const);
    const stored = await Promise.all([
      complete(first),
      complete(second, { status: 'failed', reason: 'rejected_by_provider' }),
      complete(third, { channel: 'email' }),
      complete(other),
      complete({ ...first, fence: first.fence + 1000 }),
    ]);
    expect(stored).toEqual([true, true, true, true, false]);
    expect(
      await sql(
        'SELECT account_id::int, month, channel, messages::int FROM message_meters ORDER BY 1, 3',
      ),
    ).toEqual([
      { account_id: 1, month: '1405-08', channel: 'email', messages: 1 },
      { account_id: 1, month: '1405-08', channel: 'sms', messages: 1 },
      { account_id: 2, month: '1405-08', channel: 'sms', messages: 1 },
    ]);
    expect(await outbox()).toEqual([
      ...['1 t1.order-1 sent', '1 t1.order-2 failed', '1 t1.order-3 sent', '2 t1.order-1 sent'],
    ]);
  });

  it('that is stored again after its answer was lost is stored once', async () => {
    const holder = await reserved();
    expect(await complete(holder)).toBe(true);
    expect(await complete(holder, { status: 'failed', reason: 'outcome_unknown' })).toBe(true);
    expect(await sql('SELECT messages::int FROM message_meters')).toEqual([{ messages: 1 }]);
    expect(await outbox()).toEqual(['1 t1.order-1 sent']);
  });

  it('of many requests is one row of the outbox for each account', async () => {
    const keys = await Promise.all(
      Array.from({ length: 30 }, (_, at) => reserved(keyOf(`order-${at}`))),
    );
    await Promise.all(keys.map((key) => complete(key)));
    const rows = await sql<{ rows: number }>('SELECT count(*)::int AS rows FROM message_outbox');
    expect(rows[0]?.rows).toBeLessThanOrEqual(2);
    expect(await outbox()).toHaveLength(30);
  });
});

/** Every outcome in the outbox. */
async function outbox(): Promise<string[]> {
  const rows = await sql<{ account_id: string; outcomes: Uint8Array }>(
    'SELECT account_id, outcomes FROM message_outbox',
  );
  return rows
    .flatMap(({ account_id, outcomes }) =>
      records(Buffer.from(outcomes)).map((record) => {
        const { message_id, status } = messageOutcomeCodec.decode(record);
        return `${account_id} ${message_id} ${status}`;
      }),
    )
    .sort();
}

function records(frames: Buffer): Buffer[] {
  if (frames.length === 0) return [];
  const end = 4 + frames.readUInt32BE(0);
  return [frames.subarray(4, end), ...records(frames.subarray(end))];
}
