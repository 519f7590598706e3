import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BotReceiver, type BotFate } from '../../support/messages/bot-receiver.ts';
import { MessageAccount } from '../../support/messages/message-account.ts';
import { MessageHost, type MessageReply } from '../../support/messages/message-host.ts';
import { eventually, rows } from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';
import { call, makeKey, minuteWithRoom, setAccount, TRACE } from './host.ts';

const STALE_MS = 4000;

const database = openPostgres();
const client = openClickhouse();
let receiver: BotReceiver;
let host: MessageHost;
let owner: MessageAccount;
let template: number;
let fates: BotFate[];
let keys = 0;

beforeAll(async () => {
  receiver = await BotReceiver.listen();
  host = await MessageHost.start(receiver, { API_STALE_RESERVATION: `${STALE_MS}ms` });
  owner = await MessageAccount.create(database, 'messages');
  const config = { url: receiver.url };
  await owner.sender('bale', 'bale', { config, secret: 'bot-token' });
  await owner.chats('bale', ['sara', 'ali']);
  template = await owner.template('bale', { text: 'سلام {{ vars.name }}' });
  receiver.fateOf = () => fates.shift() ?? 'accept';
}, 120_000);
afterAll(async () => {
  await host.close();
  receiver.close();
});

const newKey = () => `order${Date.now()}${++keys}`;

async function send(
  body: object = {},
  { headers = {}, answers = [] as BotFate[] } = {},
): Promise<MessageReply & { key: string }> {
  fates = [...answers];
  const key = newKey();
  const request = {
    ...{ user_id: 'sara', template_id: template, channel: 'bale', idempotency_key: key },
    ...body,
  };
  return { ...(await host.post(owner.account.managementKey, request, headers)), key };
}
const again = (key: string, body: object = {}) => send({ ...body, idempotency_key: key });
const idOf = (key: string) => `t${owner.account.accountId}.${key}`;
const sentTo = (text: string) => receiver.sentTexts().get(text) ?? 0;

describe('POST /v1/messages (management 2.8, 4.2)', () => {
  it('sends a message with its variables, once for its key', async () => {
    const vars = { name: `سارا ${newKey()}` };
    const first = await send({ vars });
    expect([first.status, first.body]).toEqual([
      200,
      { message_id: idOf(first.key), status: 'sent', channel: 'bale', replayed: false },
    ]);
    expect(first.headers.get('x-service-trace')).toMatch(TRACE);
    expect((await again(first.key, { vars: { name: 'other' } })).body).toEqual({
      ...{ message_id: idOf(first.key), status: 'sent', channel: 'bale', replayed: true },
    });
    expect([sentTo(`سلام ${vars.name}`), sentTo('سلام other')]).toEqual([1, 0]);
  });

  it('takes the key from the header', async () => {
    const key = newKey();
    const headers = { 'Idempotency-Key': key };
    const { body } = await send({ idempotency_key: undefined }, { headers });
    expect(body['message_id']).toBe(idOf(key));
  });

  it.each<[string, object, string, string]>([
    ['nobody with an address', { user_id: 'nobody' }, 'skipped', 'no_address'],
    ['a template that does not exist', { template_id: 999_999_999 }, 'skipped', 'unknown_template'],
    ['a template of another channel', { channel: 'eitaa' }, 'skipped', 'unknown_template'],
  ])('says that nothing was sent to %s, in Persian too', async (_, body, status, reason) => {
    const answer = await send(body);
    expect([answer.status, answer.body]).toMatchObject([
      200,
      { status, reason, replayed: false, reason_fa: expect.stringMatching(/[آ-ی]/) as unknown },
    ]);
    expect((await again(answer.key, body)).body).toMatchObject({ reason, replayed: true });
  });

  it('says that a channel is not configured, and an address suppressed', async () => {
    const email = await owner.template('email', { subject: 's', text: 't' });
    const unconfigured = await send({ template_id: email, channel: 'email' });
    expect(unconfigured.body).toMatchObject({ reason: 'channel_not_configured' });
  });

  it('says that the provider refused the message', async () => {
    const { body } = await send({ user_id: 'ali' }, { answers: ['closed'] });
    expect(body).toMatchObject({ status: 'failed' });
    expect(['rejected_by_provider', 'dead_address']).toContain(body['reason']);
  });

  it('tries again while the provider is busy', async () => {
    const answers: BotFate[] = ['busy', 'busy', 'accept'];
    const vars = { name: newKey() };
    const { body } = await send({ vars }, { answers });
    expect(body).toMatchObject({ status: 'sent' });
    expect(sentTo(`سلام ${vars.name}`)).toBe(1);
  });

  it('answers 503 when the provider stays busy, and the key is free', async () => {
    receiver.fateOf = () => 'busy';
    const { status, body, headers, key } = await send();
    receiver.fateOf = () => fates.shift() ?? 'accept';
    expect([status, body]).toEqual([503, { error: 'message not sent' }]);
    expect(headers.get('retry-after')).toBeNull();
    expect((await again(key)).body).toMatchObject({ status: 'sent', replayed: false });
  }, 60_000);

  it('says outcome_unknown when the answer is lost, and the key stays taken', async () => {
    const vars = { name: newKey() };
    const lost = await send({ vars }, { answers: ['accept_and_hang_up'] });
    expect([lost.status, lost.body]).toMatchObject([
      200,
      { status: 'failed', reason: 'outcome_unknown', replayed: false },
    ]);
    expect((await again(lost.key, { vars })).body).toMatchObject({
      ...{ reason: 'outcome_unknown', replayed: true },
    });
    expect(sentTo(`سلام ${vars.name}`)).toBe(1);
  });

  it('answers 409 with Retry-After: 1 while the key is in flight', async () => {
    receiver.latency = 1500;
    const first = send();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const second = await again(await keyInFlight());
    receiver.latency = 0;
    expect([second.status, second.body, second.headers.get('retry-after')]).toEqual([
      409,
      { error: 'transactional: a message with this idempotency key is already in flight' },
      '1',
    ]);
    expect((await first).body).toMatchObject({ status: 'sent' });
  });

  /** The key of the request that has no answer yet; empty: none. */
  async function keyInFlight(): Promise<string> {
    const { rows: found } = await database.query<{ idempotency_key: string }>(
      'SELECT idempotency_key FROM transactional_messages WHERE account_id = $1 AND result IS NULL AND opened_at IS NOT NULL',
      [owner.account.accountId],
    );
    return found[0]?.idempotency_key ?? '';
  }

  it('lets a reservation be taken again when its request came to no end', async () => {
    receiver.latency = 60_000;
    void send().catch(() => undefined);
    const key = await eventually(
      { ms: 10_000, waitingFor: 'the call of the provider' },
      async () => (await keyInFlight()) || undefined,
    );
    await host.killAndStart();
    receiver.latency = 0;
    expect((await again(key)).status).toBe(409);
    await new Promise((resolve) => setTimeout(resolve, STALE_MS));
    // The provider was called, and nobody knows whether it took the message.
    expect((await again(key)).body).toMatchObject({ reason: 'outcome_unknown', replayed: false });
  }, 60_000);

  it('refuses marketing, by its category and by that of its template', async () => {
    const error = 'transactional: this endpoint does not send marketing; use a campaign';
    expect((await send({ category: 'marketing' })).body).toEqual({ error });
    const marketing = await owner.template('bale', { text: 'x' }, 'marketing');
    const refused = await send({ template_id: marketing });
    expect([refused.status, refused.body]).toEqual([400, { error }]);
    expect((await again(refused.key)).body).toMatchObject({ status: 'sent', replayed: false });
  });

  it('puts a message into the inbox of an app', async () => {
    await owner.sender('inapp', 'inapp');
    const inapp = await owner.template('inapp', { title: 'سفارش', text: 'کد: {{ vars.code }}' });
    const request = { template_id: inapp, channel: 'inapp', vars: { code: 1234 } };
    const { body, key } = await send(request);
    expect(body).toMatchObject({ status: 'sent', channel: 'inapp' });
    const { rows: entries } = await database.query(
      'SELECT user_id, id, title, body FROM inbox_entries WHERE account_id = $1',
      [owner.account.accountId],
    );
    expect(entries).toEqual([{ user_id: 'sara', id: idOf(key), title: 'سفارش', body: 'کد: 1234' }]);
  });

  it('leaves one outcome of each message, and a meter of what was sent', async () => {
    const { key } = await send({ vars: { name: 'x' } });
    const metered = async () => {
      const { rows: meters } = await database.query<{ messages: number }>(
        "SELECT sum(messages)::int AS messages FROM message_meters WHERE account_id = $1 AND channel = 'bale'",
        [owner.account.accountId],
      );
      return meters[0]?.messages ?? 0;
    };
    const before = await metered();
    await send({ vars: { name: 'y' } });
    await send({ user_id: 'nobody' });
    expect(await metered()).toBe(before + 1);
    const stored = await eventually({ ms: 60_000, waitingFor: 'the outcome' }, async () => {
      const found = await rows<{ status: string }>(
        client,
        'SELECT status FROM messages FINAL WHERE account_id = {account:UInt64} AND message_id = {id:String}',
        { account: owner.account.accountId, id: idOf(key) },
      );
      return found.length > 0 ? found : undefined;
    });
    expect(stored).toEqual([{ status: 'sent' }]);
  });
});

describe('what POST /v1/messages refuses (management 7.6)', () => {
  it.each<[object, string]>([
    [{ user_id: '' }, 'transactional: user_id is required'],
    [{ template_id: undefined }, 'transactional: template_id is required'],
    [{ idempotency_key: '' }, 'transactional: idempotency_key is required'],
    [
      { idempotency_key: 'short' },
      'transactional: idempotency_key must be 8–200 characters of letters, digits, dot, dash, underscore or colon',
    ],
    [{ channel: 'fax' }, 'transactional: unknown channel'],
    [
      { vars: Object.fromEntries(Array.from({ length: 41 }, (_, at) => [`v${at}`, 1])) },
      'transactional: too many variables',
    ],
    [{ subject: 'x' }, 'malformed JSON: unknown field "subject"'],
  ])('%j', async (body, error) => {
    const answer = await send(body);
    expect([answer.status, answer.body]).toEqual([400, { error }]);
  });

  it('a body that is no JSON, or too large', async () => {
    const { managementKey: key } = owner.account;
    const broken = await call('POST', '/v1/messages', { key, body: '{' });
    expect(broken).toMatchObject({
      ...{ status: 400, body: { error: expect.stringMatching(/^malformed JSON: ./) as unknown } },
    });
    const vars = { a: 'x'.repeat(256 * 1024) };
    const large = await call('POST', '/v1/messages', { key, body: { vars } });
    expect(large).toMatchObject({
      ...{ status: 400, body: { error: 'malformed JSON: the body exceeds 256 KiB' } },
    });
  });

  it('more requests a minute than the account may send', async () => {
    const limited = await MessageAccount.create(database, 'limited');
    const { accountId } = limited.account;
    await setAccount(String(accountId), { api_rate_per_minute: '2' });
    await minuteWithRoom(10);
    const replies = [];
    for (let time = 0; time < 3; time++) {
      // Another key of the account gives no fresh allowance.
      const { key } = await makeKey(String(accountId), 'marketer');
      replies.push(await call('POST', '/v1/messages', { key, body: {} }));
    }
    const seen = replies.map(({ status, headers }) => [
      ...[status, headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')],
    ]);
    expect(seen).toEqual([
      ...[
        [400, '2', '1'],
        [400, '2', '0'],
        [429, '2', '0'],
      ],
    ]);
    expect(replies[2]?.body).toEqual({ error: 'rate limit exceeded: 2 requests per minute' });
    expect(replies[2]?.headers.get('retry-after')).toBe('60');
  });
});
