import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { TESTS_PER_MINUTE } from '../../../control-plane/campaigns/test-message.ts';
import { createAccount, eventually, type TestAccount } from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { minuteWithRoom } from '../management/host.ts';
import { control, enter, type Reply } from './panel.ts';

const database = openPostgres();

let account: TestAccount;
let owner: string;
let template: number;
beforeAll(async () => {
  account = await createAccount('test messages');
  owner = await enter(String(account.accountId));
  template = await makeTemplate(owner, 'inapp');
});

/** Of marketing, which POST /v1/messages refuses; the inbox needs no provider. */
async function makeTemplate(session: string, channel: 'inapp' | 'sms'): Promise<number> {
  const content = { channel, category: 'marketing', text: 'سلام {{ vars.name }}' };
  const body = { name: 'یلدا', ...(channel === 'inapp' ? { title: 'یلدا' } : {}), ...content };
  const saved = await control('POST', '/v1/templates', { session, body });
  expect(saved.status).toBe(201);
  return (saved.body as { id: number }).id;
}

const newKey = () => randomUUID();

function send(body: object, { session = owner, id = template, headers = {} } = {}): Promise<Reply> {
  const json = { 'content-type': 'application/json', ...headers };
  return control('POST', `/v1/templates/${id}/test`, { session, body, headers: json });
}

async function linesOf(messageId: string): Promise<unknown[]> {
  const { body } = await control('GET', '/v1/audit?action=message_template.tested', {
    session: owner,
  });
  const { lines } = body as { lines: { details: { message_id: string } }[] };
  return lines.filter(({ details }) => details.message_id === messageId);
}

describe('POST /v1/templates/{id}/test', () => {
  it('sends a marketing template once for its key, with one audit line and one outcome', async () => {
    const key = newKey();
    const message_id = `t${account.accountId}.test~${key}`;
    const asked = { user_id: 'sara', idempotency_key: key, vars: { name: 'سارا' } };
    const first = await send(asked);
    const result = { message_id, channel: 'inapp', status: 'sent' };
    expect([first.status, first.body]).toEqual([200, { ...result, replayed: false }]);
    const again = await send(asked);
    expect([again.status, again.body]).toEqual([200, { ...result, replayed: true }]);

    const { rows: inbox } = await database.query<{ body: string }>(
      'SELECT body FROM inbox_entries WHERE account_id = $1 AND id = $2',
      [account.accountId, message_id],
    );
    expect(inbox).toEqual([{ body: 'سلام سارا' }]);
    expect(await linesOf(message_id)).toMatchObject([
      {
        actor: expect.stringMatching(/^member:\d+$/) as unknown,
        details: { message_id, template_id: template, channel: 'inapp' },
      },
    ]);
    expect(JSON.stringify(await linesOf(message_id))).not.toContain('sara');
    // Sent is metered, and nothing of it belongs to a campaign.
    const { rows: meters } = await database.query<{ messages: number }>(
      `SELECT messages::int AS messages FROM message_meters WHERE account_id = $1 AND channel = 'inapp'`,
      [account.accountId],
    );
    expect(meters).toEqual([{ messages: 1 }]);

    await eventually(
      { ms: 60_000, waitingFor: 'the message on the page of the person' },
      async () => {
        const { body } = await control('GET', '/v1/people/sara', { session: owner });
        const { messages = [] } = body as { messages?: object[] };
        const [message] = messages;
        if (!message) return undefined;
        expect(messages).toHaveLength(1);
        expect(message).toMatchObject({
          message_id,
          is_test: true,
          campaign_id: 0,
          status: 'sent',
        });
        return true;
      },
    );
    await eventually({ ms: 60_000, waitingFor: 'the event of the message' }, async () => {
      const { body } = await control('GET', '/v1/live?event=message_sent', { session: owner });
      const { events } = body as { events: { properties: object }[] };
      if (events.length === 0) return undefined;
      expect(events).toMatchObject([{ properties: { test: 'true' } }]);
      return true;
    });
  });

  it.each<[string, object]>([
    ['names nobody', { user_id: '' }],
    ['has a key of another form', { idempotency_key: 'test~12345678' }],
    ['has a key that says something', { idempotency_key: '09121234567' }],
    ['names another channel', { channel: 'sms' }],
    ['names a category', { category: 'service' }],
  ])('is refused when it %s', async (_, wrong) => {
    const reply = await send({ user_id: 'sara', idempotency_key: newKey(), ...wrong });
    expect([reply.status, reply.body]).toMatchObject([400, { code: 'invalid_request' }]);
  });

  it('is there for templates of the account only, and for its members who may send', async () => {
    const body = { user_id: 'sara', idempotency_key: newKey() };
    const other = await createAccount('test messages, other');
    const stranger = await enter(String(other.accountId));
    expect((await send(body, { session: stranger })).status).toBe(404);
    const analyst = await enter(String(account.accountId), 'analyst');
    const refused = await send(body, { session: analyst });
    expect([refused.status, refused.body]).toMatchObject([403, { need: 'campaign.send' }]);
    const origin = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    const crossed = await send(body, { headers: origin });
    expect([crossed.status, crossed.body]).toMatchObject([403, { code: 'cross_site' }]);
  });

  it(`sends at most ${TESTS_PER_MINUTE} in a minute for an account`, async () => {
    const busy = await createAccount('test messages, many');
    const session = await enter(String(busy.accountId));
    const id = await makeTemplate(session, 'sms');
    await minuteWithRoom(30);
    // More than two minutes allow, should the requests lie in two.
    const replies = await Promise.all(
      Array.from({ length: 2 * TESTS_PER_MINUTE + 1 }, () =>
        send({ user_id: 'sara', idempotency_key: newKey() }, { session, id }),
      ),
    );
    const [sent, refused] = [200, 429].map((of) => replies.filter(({ status }) => status === of));
    expect((sent?.length ?? 0) + (refused?.length ?? 0)).toBe(replies.length);
    expect(sent?.length).toBeGreaterThanOrEqual(TESTS_PER_MINUTE);
    for (const { body } of sent ?? [])
      expect(body).toMatchObject({ status: 'skipped', reason: 'channel_not_configured' });
    const [over] = refused ?? [];
    expect([over?.headers['retry-after'], over?.body]).toMatchObject([
      ...['60', { code: 'too_many_requests' }],
    ]);
  });
});
