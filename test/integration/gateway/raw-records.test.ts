import { beforeAll, describe, expect, it } from 'vitest';
import { partitionOf } from '../../../events/partition.ts';
import { createAccount, readyStack, type TestAccount } from '../../support/stack.ts';
import { outcomesOf, rawOf, watchTopic } from './raw-log.ts';

let account: TestAccount;

beforeAll(async () => {
  account = await createAccount('raw records');
});

async function post(
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const response = await fetch(`${readyStack().ingest_url}${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.writeKey}`, ...headers },
    body,
  });
  return response.json();
}

describe('raw records', () => {
  it('of a single event hold its bytes, the facts of its connection and the decisions', async () => {
    const appended = await watchTopic('events.raw');
    const body =
      '{ "event":"خرید" , "user_id":"u1","message_id":"raw-1", "timestamp":"2026-11-21T10:00:00+03:30" }';
    const before = Date.now();
    expect(
      await post('/v1/track?x=1', body, {
        'User-Agent': 'test/1',
        Origin: 'https://shop.example',
        'X-Service-Trace': 'feedbeef',
      }),
    ).toMatchObject({ status: 'ok', accepted: 1 });
    const [stored, ...more] = rawOf(await appended(), account.accountId);
    expect(more).toEqual([]);
    expect(stored?.record.body.toString()).toBe(body);
    // Its partition is chosen by the gateway: nothing reads a key.
    expect(stored?.key).toBeNull();
    expect(stored?.record).toMatchObject({
      shape: 'single',
      path: '/v1/track',
      source: 'sdk',
      user_agent: 'test/1',
      origin: 'https://shop.example',
      trace: 'feedbeef',
    });
    expect(stored?.record.ip).toMatch(/^(127\.0\.0\.1|::1)$/);
    expect(stored?.record.received_at).toBeGreaterThanOrEqual(before);
    expect(stored?.record.write_key_id).toBeGreaterThan(0);
    expect({ ...stored?.record.items[0] }).toEqual({
      at: 0,
      index: 0,
      type: 'track',
      message_id: 'raw-1',
      generated: false,
      dedupe_id: null,
      timestamp: Date.parse('2026-11-21T06:30:00Z'),
    });
  });

  it('of a batch of one person hold the whole body and name the accepted items in it', async () => {
    const appended = await watchTopic('events.raw');
    const item = (id: string, more = '') =>
      `{"type":"track","event":"x","user_id":"one","message_id":"${id}"${more}}`;
    const body = `{"sent_at":"${new Date().toISOString()}","batch":[${item('b-1')},{"type":"nonsense"},${item('b-2')},${item('b-1')}],"context":{"locale":"fa"}}`;
    expect(await post('/v1/batch', body)).toMatchObject({
      accepted: 3,
      duplicates: 1,
      rejected: 1,
    });
    const [stored, ...more] = rawOf(await appended(), account.accountId);
    expect(more).toEqual([]);
    expect(stored?.record.body.toString()).toBe(body);
    expect(
      stored?.record.items.map(({ at, index, message_id }) => ({ at, index, message_id })),
    ).toEqual([
      { at: 0, index: 0, message_id: 'b-1' },
      { at: 2, index: 2, message_id: 'b-2' },
    ]);
  });

  it('of a batch of many people are one for each partition, with the bytes of its items in order', async () => {
    const appended = await watchTopic('events.raw');
    const texts = Array.from(
      { length: 40 },
      (_, at) =>
        ` {"type":"track", "event":"x","user_id":"کاربر ${at % 13}","message_id":"m-${at}","properties":{"n":${at}.50,"s":"}],\\""}} `,
    );
    const context = '{ "locale" : "fa-IR" }';
    expect(
      await post('/v1/batch', `{"batch":[${texts.join(',')}],"context":${context},"sent_at":null}`),
    ).toEqual({ status: 'ok', accepted: 40 });
    const stored = rawOf(await appended(), account.accountId);
    expect(new Set(stored.map(({ partition }) => partition)).size).toBe(stored.length);
    expect(stored.length).toBeGreaterThan(1);
    const seen: { sequence: number; index: number }[] = [];
    for (const { partition, record } of stored) {
      const text = record.body.toString();
      expect(text.startsWith(`{"context":${context},"sent_at":null,"batch":[`)).toBe(true);
      const { batch } = JSON.parse(text) as { batch: { user_id: string; message_id: string }[] };
      expect(batch.length).toBe(record.items.length);
      for (const [at, item] of record.items.entries()) {
        expect(item.at).toBe(at);
        expect(batch[at]?.message_id).toBe(item.message_id);
        expect(text).toContain(texts[item.index]?.trim());
        expect(
          partitionOf({
            accountId: account.accountId,
            distinctId: batch[at]?.user_id ?? '',
            partitions: 4,
          }),
        ).toBe(partition);
        seen.push({ sequence: record.sequence + at, index: item.index });
      }
      expect(record.items.map(({ index }) => index)).toEqual(
        record.items.map(({ index }) => index).toSorted((a, b) => a - b),
      );
    }
    expect(new Set(seen.map(({ sequence }) => sequence)).size).toBe(40);
    expect(new Set(seen.map(({ index }) => index)).size).toBe(40);
  });

  it('have a generated id for each event without a message id', async () => {
    const appended = await watchTopic('events.raw');
    await post(
      '/v1/batch',
      JSON.stringify({ batch: [1, 2, 3].map(() => ({ type: 'page', anonymous_id: 'v' })) }),
    );
    const items = rawOf(await appended(), account.accountId).flatMap(({ record }) => record.items);
    expect(items.map(({ generated }) => generated)).toEqual([true, true, true]);
    expect(new Set(items.map(({ message_id }) => message_id)).size).toBe(3);
    expect(items.every(({ message_id }) => message_id.length > 10)).toBe(true);
  });
});

describe('outcomes', () => {
  it('record rejects, warnings and duplicates before the answer, and nothing of clean requests', async () => {
    const appended = await watchTopic('ingest.outcomes');
    const library = { library: { name: 'web', version: '2.1' } };
    await post('/v1/track', JSON.stringify({ event: 'x', user_id: 'u', message_id: 'o-1' }));
    expect(outcomesOf(await appended(), account.accountId)).toEqual([]);
    await post(
      '/v1/batch',
      JSON.stringify({
        context: library,
        batch: [
          { type: 'track', event: 'x', user_id: 'u', message_id: 'o-1' },
          { type: 'track', user_id: 'u' },
          { type: 'page', user_id: 'u' },
        ],
      }),
    );
    await post('/v1/track', JSON.stringify({ event: 'x' }));
    await post('/v1/batch', '{"batch":[]}');
    await post('/v1/batch', JSON.stringify({ batch: Array.from({ length: 501 }, () => ({})) }));
    const outcomes = outcomesOf(await appended(), account.accountId).sort(
      (a, b) => a.sequence - b.sequence,
    );
    const reported = outcomes.map(({ received, accepted, duplicate, rejected, counts }) => ({
      received,
      accepted,
      duplicate,
      rejected,
      counts: counts.map((count) => ({ ...count })),
    }));
    expect(reported).toEqual([
      {
        ...{ received: 3, accepted: 1, duplicate: 1, rejected: 1 },
        counts: [
          { kind: 'reject', code: 'missing_event_name', field: 'event', sdk: 'web/2.1', count: 1 },
          {
            kind: 'warn',
            code: 'generated_message_id',
            field: 'message_id',
            sdk: 'web/2.1',
            count: 1,
          },
        ],
      },
      {
        received: 1,
        accepted: 0,
        duplicate: 0,
        rejected: 1,
        counts: [{ kind: 'reject', code: 'missing_identity', field: 'user_id', sdk: '', count: 1 }],
      },
      {
        received: 0,
        accepted: 0,
        duplicate: 0,
        rejected: 0,
        counts: [{ kind: 'reject', code: 'batch_empty', field: 'batch', sdk: '', count: 1 }],
      },
      {
        received: 501,
        accepted: 0,
        duplicate: 0,
        rejected: 501,
        counts: [{ kind: 'reject', code: 'batch_too_large', field: 'batch', sdk: '', count: 501 }],
      },
    ]);
  });
});
