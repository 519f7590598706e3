import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import type { ProviderMessage } from '../provider.ts';
import { openProvider } from '../registry.ts';
import { messageTo, providerDeps } from '../testing/provider-deps.ts';

const NOW = 1_763_800_000_000;
const NEVER = new AbortController().signal;
const EMPTY = { subject: '', title: '', text: '', html: '', url: '', data: {} };

let postgres: MigratedDatabase;
let statements = 0;
/** What a statement does before PostgreSQL has it. */
let before: () => Promise<void> = () => Promise.resolve();

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0051']);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await postgres.database.query('DELETE FROM inbox_entries');
  statements = 0;
  before = () => Promise.resolve();
});

function inapp(accountId = 1) {
  const database = {
    async query(text: string, values?: unknown[]) {
      statements++;
      await before();
      return postgres.database.query(text, values);
    },
  } as typeof postgres.database;
  return openProvider({
    ...{ channel: 'inapp', provider: 'inapp', config: {}, secret: '', accountId },
    deps: { ...providerDeps({ now: () => NOW }), database },
  });
}

const message = (change: Partial<ProviderMessage> = {}): ProviderMessage => ({
  ...messageTo({ kind: 'inbox', accountId: 1, userId: 'نیما\\1' }),
  ...change,
});

const rows = async () =>
  (await postgres.database.query('SELECT * FROM inbox_entries ORDER BY id')).rows as object[];

test('a message is an entry with its content and its id', async () => {
  const content = { ...EMPTY, title: 'سلام', text: 'متن', url: 'https://a.b/', data: { o: '7' } };
  const answer = await inapp().send(message({ content, messageId: 't1.key-0001' }), {
    signal: NEVER,
  });
  expect(answer).toEqual({ kind: 'accepted', providerMessageId: 't1.key-0001' });
  expect(await rows()).toMatchObject([
    {
      ...{ user_id: 'نیما\\\\1', id: 't1.key-0001', title: 'سلام', body: 'متن' },
      ...{ url: 'https://a.b/', data: { o: '7' }, created_at: new Date(NOW), read_at: null },
    },
  ]);
});

test('a message that is sent again is the entry that it was', async () => {
  const provider = inapp();
  expect(provider.isIdempotent).toBe(true);
  const sent = message({ content: { ...EMPTY, text: 'first' } });
  const again = message({ content: { ...EMPTY, text: 'second' } });
  const answers = await Promise.all(
    [sent, sent, again].map((one) => provider.send(one, { signal: NEVER })),
  );
  answers.push(await provider.send(again, { signal: NEVER }));
  expect(answers.map(({ kind }) => kind)).toEqual(Array(4).fill('accepted'));
  expect(await rows()).toMatchObject([{ body: 'first' }]);
});

test('many messages are few statements', async () => {
  const provider = inapp();
  const sent = Array.from({ length: 1200 }, (_, at) => message({ messageId: `t1.key-${at}` }));
  const answers = await Promise.all(sent.map((one) => provider.send(one, { signal: NEVER })));
  expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
  // The first one alone, or with others, and then at most 500 at a time.
  expect(statements).toBeLessThanOrEqual(4);
  // An inbox has the newest 1,000.
  expect(await rows()).toHaveLength(1000);
});

test('a text that PostgreSQL does not store holds up no other message', async () => {
  const provider = inapp();
  const odd = ['\0', '\ud800', 'a\udfffb', '\\u0000'];
  const contents = odd.flatMap((text) => [
    { ...EMPTY, title: text, text, url: `https://a/${text}` },
    { ...EMPTY, data: { [text]: 'key', value: text } },
  ]);
  const sent = [{ ...EMPTY, text: 'good' }, ...contents].map((content, at) =>
    message({
      content,
      messageId: `t1.key-${at}`,
      to: { kind: 'inbox', accountId: 1, userId: 'u\0' },
    }),
  );
  const answers = await Promise.all(sent.map((one) => provider.send(one, { signal: NEVER })));
  expect(answers.map(({ kind }) => kind)).toEqual(Array(9).fill('accepted'));
  expect(await rows()).toHaveLength(9);
});

test('a message is tried again when PostgreSQL does not answer, and also when its answer is lost', async () => {
  const provider = inapp();
  before = () => Promise.reject(new Error('connection refused'));
  expect(await provider.send(message(), { signal: NEVER })).toEqual({
    ...{ kind: 'retry', reason: 'unavailable', detail: 'connection refused' },
  });
  before = () => Promise.resolve();
  expect(await provider.send(message(), { signal: NEVER })).toMatchObject({ kind: 'accepted' });
  expect(await rows()).toHaveLength(1);
});

test('at most 10,000 messages wait; the others are tried again', async () => {
  const provider = inapp();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  before = () => promise;
  const sent = Array.from({ length: 10_600 }, (_, at) =>
    message({
      messageId: `t1.key-${at}`,
      to: { kind: 'inbox', accountId: 1, userId: `u${at % 500}` },
    }),
  );
  const answers = sent.map((one) => provider.send(one, { signal: NEVER }));
  const last = await answers.at(-1);
  expect(last).toMatchObject({ kind: 'retry', detail: expect.stringContaining('10000') as string });
  resolve(undefined);
  const kinds = (await Promise.all(answers)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'retry').length).toBeLessThanOrEqual(600);
});

describe('nothing is stored', () => {
  test.each<[string, Partial<ProviderMessage>, object]>([
    ['for another channel', { to: { kind: 'phone', number: '1' } }, { kind: 'rejected' }],
    [
      'for another account',
      { to: { kind: 'inbox', accountId: 2, userId: 'u' } },
      { kind: 'rejected' },
    ],
    [
      'that is larger than 32 KiB',
      { content: { ...EMPTY, text: 'x'.repeat(33_000) } },
      { kind: 'rejected', reason: 'too_large' },
    ],
  ])('%s', async (_, change, expected) => {
    expect(await inapp().send(message(change), { signal: NEVER })).toMatchObject(expected);
    expect(await rows()).toEqual([]);
  });

  test('when the caller has stopped', async () => {
    expect(await inapp().send(message(), { signal: AbortSignal.abort() })).toMatchObject({
      kind: 'retry',
    });
    expect(statements).toBe(0);
  });
});
