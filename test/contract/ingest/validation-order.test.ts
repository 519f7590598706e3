import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount, type TestAccount } from '../../support/stack.ts';
import { ask } from './host.ts';

let account: TestAccount;
beforeAll(async () => {
  account = await createAccount('order');
});

async function post(path: string, body: unknown): Promise<[number, unknown]> {
  const { status, text } = await ask({
    path,
    body,
    headers: { Authorization: `Bearer ${account.writeKey}` },
  });
  return [status, JSON.parse(text)];
}

const LONG = 'x'.repeat(300);

describe('validation (ingest 7.3, docs/ingest.md)', () => {
  it.each<[string, object, string]>([
    ['unknown_type', { type: 'x', event: LONG, previous_id: '' }, 'unknown_type: "x"'],
    ['missing_identity', { type: 'track', event: LONG }, 'missing_identity'],
    ['missing_identity before missing_event_name', { type: 'track' }, 'missing_identity'],
    ['missing_event_name', { type: 'track', user_id: LONG }, 'missing_event_name'],
    [
      'event_name_too_long',
      { type: 'track', user_id: LONG, event: `${LONG}\u0000` },
      'event_name_too_long',
    ],
    [
      'event_name_invalid_chars',
      { type: 'track', user_id: LONG, event: 'a\u0000b' },
      'event_name_invalid_chars',
    ],
    ['id_too_long', { type: 'alias', user_id: LONG }, 'id_too_long'],
    ['missing_previous_id', { type: 'alias', user_id: 'u' }, 'missing_previous_id'],
  ])('reports the first of several faults: %s', async (_, item, reason) => {
    expect(await post('/v1/batch', { batch: [item] })).toEqual([
      200,
      { status: 'ok', rejected: 1, errors: [{ index: 0, reason }] },
    ]);
    const { type } = item as { type: string };
    if (type !== 'x')
      expect(await post(`/v1/${type}`, item)).toEqual([400, { status: 'error', message: reason }]);
  });

  it.each<[string, unknown, string]>([
    [
      'checks the JSON types of all items before the rules',
      { batch: [{ type: 'x' }, { type: 'track', user_id: 5 }] },
      'malformed JSON',
    ],
    [
      'checks the number of items before their types',
      { batch: Array.from({ length: 501 }, () => 5) },
      'batch_too_large: 501 items, limit 500',
    ],
    ['reports an empty batch before a wrong common time', { batch: [] }, 'batch_empty'],
  ])('%s', async (_, body, message) =>
    expect(await post('/v1/batch', body)).toEqual([400, { status: 'error', message }]),
  );

  it('checks the key before the size of the body, and the size before its contents', async () => {
    const body = `{${' '.repeat(5_242_881)}`;
    expect((await post('/v1/track', body))[0]).toBe(413);
    const { status } = await ask({ path: '/v1/track', body });
    expect(status).toBe(401);
  });

  it.each<[string, number, number]>([
    ['accepts an id of 256 bytes', 256, 200],
    ['rejects an id of 257 bytes instead of truncating it', 257, 400],
  ])('%s', async (_, bytes, status) => {
    const id = `${'ی'.repeat(Math.floor(bytes / 2))}${'x'.repeat(bytes % 2)}`;
    for (const name of ['user_id', 'anonymous_id', 'message_id'])
      expect((await post('/v1/track', { event: 'x', user_id: 'u', [name]: id }))[0]).toBe(status);
  });

  it('accepts a previous_id of any length, and truncates session_id instead of rejecting it', async () => {
    expect((await post('/v1/alias', { user_id: 'u', previous_id: 'p'.repeat(100_000) }))[0]).toBe(
      200,
    );
    expect(
      (await post('/v1/track', { event: 'x', user_id: 'u', context: { session_id: LONG } }))[0],
    ).toBe(200);
  });
});
