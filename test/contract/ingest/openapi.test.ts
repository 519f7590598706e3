import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { admin, createAccount, serviceStatus, type TestAccount } from '../../support/stack.ts';
import { trackedMessage } from '../../support/channels.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { misfits, unnamed } from '../schema-check.ts';
import { ask, type Sent } from './host.ts';

type Schema = Record<string, unknown>;
interface Described {
  headers?: Record<string, { schema: Schema }>;
  content?: Record<string, { schema?: Schema }>;
}
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/openapi/ingest.json'), 'utf8'),
) as Schema & {
  paths: Record<string, Record<string, { responses: Record<string, Described> }>>;
};

const database = openPostgres();

let account: TestAccount;
let cancelled: TestAccount;
let serial = 0;
beforeAll(async () => {
  account = await createAccount('openapi');
  cancelled = await createAccount('openapi, cancelled');
  await admin('account', 'set', '--account', String(cancelled.accountId), 'subscription=cancelled');
});

/** Sends, and holds status, headers and body of the answer against the document. */
async function held(sent: Sent): Promise<number> {
  const answer = await ask(sent);
  const path = (sent.path.split('?')[0] ?? '')
    .replace(/^\/s\/.*/, '/s/{code}')
    .replace(/^\/e\/(\w)\/.*/, '/e/$1/{token}')
    .replace(/^\/v1\/bounce\/.*/, '/v1/bounce/{local}')
    .replace(/^\/v1\/hooks\/.*/, '/v1/hooks/{source}/{token}');
  const described =
    document.paths[path]?.[(sent.method ?? 'POST').toLowerCase()]?.responses[answer.status];
  if (!described) throw new Error(`${path} answered ${answer.status}, which is not documented`);
  for (const [name, { schema }] of Object.entries(described.headers ?? {})) {
    const value = answer.headers[name.toLowerCase()];
    if (value !== undefined || name === 'X-Service-Trace')
      expect(misfits(document, schema, value), name).toEqual([]);
  }
  const schema = described.content?.['application/json']?.schema;
  if (schema) {
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const body: unknown = JSON.parse(answer.text);
    expect(misfits(document, schema, body)).toEqual([]);
    expect(unnamed(document, schema, body)).toEqual([]);
  } else {
    const [type = ''] = Object.keys(described.content ?? {});
    expect((answer.headers['content-type'] ?? '').split(';')[0]).toBe(type);
  }
  return answer.status;
}

const event = (more: object = {}) => ({
  event: 'x',
  user_id: 'u',
  message_id: `openapi-${process.pid}-${serial++}`,
  ...more,
});
const key = () => ({ Authorization: `Bearer ${account.writeKey}` });

describe('docs/openapi/ingest.json', () => {
  it.each(['track', 'identify', 'page', 'screen', 'alias'])(
    'describes the answers of POST /v1/%s',
    async (type) => {
      const path = `/v1/${type}`;
      const good = event({ previous_id: 'p' });
      expect(await held({ path, headers: key(), body: good })).toBe(200);
      expect(
        await held({
          path,
          headers: key(),
          body: {
            ...event({ previous_id: 'p' }),
            message_id: undefined,
            timestamp: '2001-01-01T00:00:00Z',
          },
        }),
      ).toBe(200);
      expect(await held({ path, headers: key(), body: '{' })).toBe(400);
      expect(await held({ path, headers: key(), body: event({ user_id: '' }) })).toBe(400);
      expect(await held({ path, body: good })).toBe(401);
      expect(await held({ path, headers: { 'X-Service-Key': 'nobody' }, body: good })).toBe(401);
      expect(await held({ path: `${path}?write_key=${cancelled.writeKey}`, body: good })).toBe(402);
      const body = gzipSync(Buffer.alloc(5_242_881, ' '));
      expect(await held({ path, headers: { ...key(), 'Content-Encoding': 'gzip' }, body })).toBe(
        413,
      );
    },
  );

  it('describes the answers of POST /v1/batch', async () => {
    const path = '/v1/batch';
    const item = { type: 'track', ...event() };
    expect(
      await held({
        path,
        headers: key(),
        body: {
          batch: [
            item,
            item,
            { type: 'x' },
            { type: 'page', anonymous_id: 'a', traits: { phone: '1' } },
          ],
        },
      }),
    ).toBe(200);
    expect(await held({ path, headers: key(), body: { batch: [{ type: 'x' }] } })).toBe(200);
    expect(await held({ path, headers: key(), body: { batch: [] } })).toBe(400);
    expect(
      await held({
        path,
        headers: key(),
        body: { batch: Array.from({ length: 501 }, () => item) },
      }),
    ).toBe(400);
    expect(await held({ path, body: { batch: [item] } })).toBe(401);
    expect(
      await held({ path: `${path}?write_key=${cancelled.writeKey}`, body: { batch: [item] } }),
    ).toBe(402);
  });

  it.each<[string, object, object]>([
    [
      '/v1/devices',
      {
        device_id: 'd',
        user_id: 'u',
        platform: 'android',
        push_token: 't',
        model: 'x'.repeat(200),
      },
      {},
    ],
    ['/v1/devices/unregister', { device_id: 'd' }, {}],
    [
      '/v1/webpush/subscribe',
      {
        user_id: 'u',
        subscription: {
          endpoint: 'https://push.example/openapi',
          keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
        },
      },
      { user_id: 'u' },
    ],
    ['/v1/webpush/unsubscribe', { endpoint: 'https://push.example/openapi' }, {}],
    ['/v1/messenger/link', { user_id: 'u', platform: 'bale', chat_id: 5 }, { user_id: 'u' }],
    ['/v1/messenger/unlink', { user_id: 'u', platform: 'bale' }, { user_id: 'u' }],
    ['/v1/onsite/event', { campaign_id: 1, user_id: 'u', action: 'shown' }, { user_id: 'u' }],
  ])('describes the answers of POST %s', async (path, good, bad) => {
    expect(await held({ path, headers: key(), body: good })).toBe(200);
    expect(await held({ path, headers: key(), body: bad })).toBe(400);
    expect(await held({ path, headers: key(), body: '{' })).toBe(400);
    expect(await held({ path, body: good })).toBe(401);
    expect(await held({ path, headers: key(), body: 'x'.repeat(5_242_881) })).toBe(413);
  });

  it('describes the answers of the inbox and of on-site lists and responses', async () => {
    const inbox = { path: '/v1/inbox', headers: key() };
    expect(await held({ ...inbox, body: {} })).toBe(400);
    expect(await held({ ...inbox, body: '[' })).toBe(400);
    expect(await held({ ...inbox, body: { user_id: 'u', user_hash: 'x' } })).toBe(403);
    expect(await held({ path: '/v1/inbox', body: { user_id: 'u' } })).toBe(401);
    const list = { method: 'GET', path: '/v1/onsite?url=https%3A%2F%2Fx.ir%2F&user_id=u' };
    expect(await held({ ...list, headers: key() })).toBe(200);
    expect(await held(list)).toBe(401);
    const response = { campaign_id: 999_999_999, user_id: 'u', answers: {} };
    expect(await held({ path: '/v1/onsite/response', headers: key(), body: response })).toBe(400);
  });

  it('describes the answers of the pages of messages and of the bounce intake', async () => {
    const message = await trackedMessage(database, { accountId: account.accountId, userId: 'u' });
    expect(await held({ method: 'GET', path: message.open })).toBe(200);
    for (const path of [message.unsubscribe, message.preferences]) {
      expect(await held({ method: 'GET', path })).toBe(200);
      expect(await held({ method: 'GET', path: `${path}A` })).toBe(404);
      expect(await held({ path, body: 'shown=email:subscribed&on=email' })).toBe(200);
      expect(await held({ path, body: 'a'.repeat(65_537) })).toBe(413);
    }
    expect(await held({ path: message.preferences, body: '' })).toBe(400);
    const mail = 'Content-Type: message/delivery-status\n\nAction: delayed\nStatus: 4.4.1\n';
    expect(await held({ path: message.bounce, body: mail })).toBe(200);
    expect(await held({ path: message.bounce, body: '\0' })).toBe(400);
    expect(await held({ path: '/v1/bounce/nobody', body: mail })).toBe(404);
    expect(await held({ path: message.bounce, body: 'x'.repeat(1_048_577) })).toBe(413);
  });

  it('describes the answers of GET /v1/status, of unknown short links and of unknown webhooks', async () => {
    expect(await held({ method: 'GET', path: '/v1/status' })).toBe(200);
    expect(await held({ method: 'GET', path: '/s/0000000' })).toBe(404);
    const served = await servedPaths();
    if (served.includes('/v1/hooks/{source}/{token}'))
      expect(await held({ path: '/v1/hooks/nobody/nothing', body: '{}' })).toBe(404);
  });

  it('is served on the admin port for the routes of this host', async () => {
    const { admin_url } = await serviceStatus('ingest-gateway');
    const served = (await (await fetch(`${admin_url}/openapi.json`)).json()) as typeof document;
    for (const [path, operations] of Object.entries(served.paths))
      expect(operations, path).toEqual(document.paths[path]);
    expect(served['components']).toEqual(document['components']);
  });
});

async function servedPaths(): Promise<string[]> {
  const { admin_url } = await serviceStatus('ingest-gateway');
  return Object.keys(
    ((await (await fetch(`${admin_url}/openapi.json`)).json()) as typeof document).paths,
  );
}
