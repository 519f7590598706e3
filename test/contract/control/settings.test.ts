import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { admin, createAccount, eventually, readyStack } from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { call, control, enter, makeAccount, partLog } from './panel.ts';

const SECRET = 'xyzzy-plugh-4711';
const database = openPostgres();
let account: string;
let owner: string;
let stranger: string;
const answers: string[] = [];

beforeAll(async () => {
  account = await makeAccount();
  [owner, stranger] = await Promise.all([enter(account), enter(await makeAccount())]);
});

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller names the shape that it looks at
async function ask<T = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
  session = owner,
): Promise<{ status: number; body: T }> {
  const reply = await control(method, path, { session, body });
  answers.push(reply.text, JSON.stringify(reply.headers));
  return { status: reply.status, body: reply.body as T };
}

interface Connection {
  id: number;
  token: string;
  last_error?: string;
}

describe('webhook connections (ingest 2.8, 4.9)', () => {
  it('are created with a token that later saves keep, like a secret that is left empty', async () => {
    const made = await ask<Connection>('PUT', '/v1/integrations', {
      source: 'event_pipeline',
      label: ' My pipeline ',
      secret: SECRET,
    });
    expect(made.status).toBe(200);
    expect(made.body.token).toMatch(/^[A-Za-z0-9_-]{32}$/);
    const { id, token } = made.body;
    expect(Number.isSafeInteger(id)).toBe(true);
    const fresh = {
      has_secret: true,
      enabled: true,
      received: 0,
      accepted: 0,
      rejected: 0,
      source_label: 'خط لولهٔ رویداد',
      webhook_url: '',
      healthy: false,
    };
    expect(made.body).toEqual({
      id,
      source: 'event_pipeline',
      label: 'My pipeline',
      token,
      ...fresh,
    });
    const again = await ask<Connection>('PUT', '/v1/integrations', {
      source: 'event_pipeline',
      label: 'Other',
      secret: '',
    });
    expect(again.body).toEqual({ ...made.body, label: 'Other' });
    const bare = await ask('PUT', '/v1/integrations', { source: 'payment_gateway' });
    expect(bare.body).toMatchObject({ has_secret: false, label: '', enabled: true });
    const { body } = await ask('GET', '/v1/integrations');
    expect(body).toEqual({ integrations: [again.body, bare.body] });
    const stored = await database.query<{ secret: Buffer }>(
      'SELECT secret FROM webhook_connections WHERE id = $1',
      [id],
    );
    expect(stored.rows[0]?.secret.toString('latin1')).not.toContain(SECRET);
  });

  it('answer 404 while they are disabled, and work again when they are enabled', async () => {
    const { body } = await ask<Connection>('PUT', '/v1/integrations', {
      source: 'event_pipeline',
      label: 'x',
      secret: SECRET,
    });
    const deliver = () =>
      call('POST', `/v1/hooks/event_pipeline/${body.token}`, {
        base: readyStack().ingest_url,
        headers: { authorization: `Bearer ${SECRET}` },
        body: { type: 'track', event: 'control_checked', userId: 'u1', messageId: randomUUID() },
      });
    expect((await deliver()).status).toBe(200);
    const off = await ask('POST', '/v1/integrations/event_pipeline/enabled', { enabled: false });
    expect([off.status, off.body]).toMatchObject([
      200,
      { enabled: false, healthy: false, token: body.token },
    ]);
    expect((await deliver()).status).toBe(404);
    expect(
      (await ask('POST', '/v1/integrations/event_pipeline/enabled', { enabled: true })).body,
    ).toMatchObject({ enabled: true });
    expect((await deliver()).status).toBe(200);
    await eventually({ ms: 15_000, waitingFor: 'the counters of a connection' }, async () => {
      const list = await ask<{ integrations: Record<string, unknown>[] }>(
        'GET',
        '/v1/integrations',
      );
      const one = list.body.integrations.find(({ source }) => source === 'event_pipeline');
      return one?.['accepted'] === 2 && one['received'] === 2 && one['healthy'] === true
        ? true
        : undefined;
    });
  });

  it('have seven sources', async () => {
    for (const source of ['shopify', '', 'EVENT_PIPELINE', 5, null])
      expect(
        (await ask('PUT', '/v1/integrations', { source, label: 'x', secret: SECRET })).body,
      ).toMatchObject({ code: 'invalid_request' });
    expect((await ask('POST', '/v1/integrations/shopify/enabled', { enabled: true })).status).toBe(
      400,
    );
    expect(
      (await ask('POST', '/v1/integrations/price_comparison/enabled', { enabled: true })).status,
    ).toBe(404);
  });

  it('belong to their account', async () => {
    expect((await ask('GET', '/v1/integrations', undefined, stranger)).body).toEqual({
      integrations: [],
    });
    expect(
      (await ask('POST', '/v1/integrations/event_pipeline/enabled', { enabled: false }, stranger))
        .status,
    ).toBe(404);
  });
});

describe('relays (ingest 2.8, 4.9)', () => {
  const relay = {
    name: 'Orders',
    url: 'https://user:hidden-password@hooks.example/in?key=hidden-key',
    events: ['order_completed'],
    filters: [{ prop: 'total', op: 'gte', value: 100 }],
    enabled: false,
  };

  it('are created, found by name, changed by id, and deleted', async () => {
    const made = await ask<{ id: number }>('PUT', '/v1/relays', { ...relay, secret: SECRET });
    expect(made).toEqual({ status: 200, body: { id: made.body.id } });
    expect((await ask('PUT', '/v1/relays', { ...relay, events: [], secret: '' })).body).toEqual(
      made.body,
    );
    expect(
      (await ask('PUT', '/v1/relays', { ...relay, id: made.body.id, name: 'Renamed' })).body,
    ).toEqual(made.body);
    const other = await ask<{ id: number }>('PUT', '/v1/relays', relay);
    expect(other.body.id).not.toBe(made.body.id);
    expect(
      (await ask('PUT', '/v1/relays', { ...relay, id: other.body.id, name: 'Renamed' })).body,
    ).toMatchObject({ code: 'invalid_request' });
    expect((await ask('GET', '/v1/relays')).body).toEqual({
      relays: [
        { id: made.body.id, ...relay, name: 'Renamed' },
        { id: other.body.id, ...relay },
      ],
    });
    const stored = await database.query<{ secret: Buffer | null }>(
      'SELECT secret FROM relays WHERE account_id = $1 ORDER BY id',
      [account],
    );
    expect(stored.rows.map(({ secret }) => secret === null)).toEqual([false, true]);
    expect(stored.rows[0]?.secret?.toString('latin1')).not.toContain(SECRET);
    expect((await ask('DELETE', `/v1/relays/${other.body.id}`)).status).toBe(204);
    expect((await ask('DELETE', `/v1/relays/${other.body.id}`)).status).toBe(404);
    expect((await ask('PUT', '/v1/relays', { ...relay, id: other.body.id })).status).toBe(404);
  });

  it.each([
    ['an empty name', { name: ' ' }],
    ['an empty URL', { url: '' }],
    ['an empty event name', { events: ['a', ''] }],
    ['an unknown operator', { filters: [{ prop: 'a', op: 'like', value: 'x' }] }],
    ['nine filters', { filters: Array.from({ length: 9 }, () => ({ prop: 'a', op: 'exists' })) }],
    ['a secret that is no text', { secret: { hidden: SECRET } }],
  ])('are refused with 400 and a sentence when they have %s', async (_, change) => {
    const { status, body } = await ask<{ error: string; code: string }>('PUT', '/v1/relays', {
      ...relay,
      ...change,
    });
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.error.length).toBeGreaterThan(10);
  });

  it('are at most 20 in an account; one that has more keeps them and may change them', async () => {
    const { accountId } = await createAccount('control many relays');
    const session = await enter(String(accountId));
    const save = (name: string) => ask('PUT', '/v1/relays', { ...relay, name }, session);
    for (let n = 0; n < 20; n++) expect((await save(`r${n}`)).status).toBe(200);
    expect(await save('r20')).toEqual({
      status: 400,
      body: {
        error: 'an account has at most 20 relays; change or delete one of them',
        code: 'invalid_request',
      },
    });
    await database.query(
      `INSERT INTO relays (account_id, name, url) VALUES ($1, 'older', 'https://x.example/')`,
      [accountId],
    );
    expect((await save('older')).status).toBe(200);
    const { body } = await ask<{ relays: unknown[] }>('GET', '/v1/relays', undefined, session);
    expect(body.relays).toHaveLength(21);
    await database.query('DELETE FROM relays WHERE account_id = $1', [accountId]);
  });

  it('have only their dead deliveries pending again after a retry', async () => {
    const { body } = await ask<{ id: number }>('PUT', '/v1/relays', { ...relay, name: 'Retried' });
    await database.query(
      `INSERT INTO relay_deliveries (account_id, relay_id, epoch, partition, log_offset, log_index, message_id, event, payload, status, attempts, response_status,
         error, next_attempt_at, finished_at)
       SELECT $1, $2, 0, 0, n, 0, 'm' || n, 'order_completed', CASE WHEN n < 4 THEN '{}' END, CASE WHEN n < 4 THEN 'dead' ELSE 'succeeded' END, 10, 500, 'broken', NULL, now()
       FROM generate_series(1, 4) AS n`,
      [account, body.id],
    );
    const path = `/v1/relays/${body.id}`;
    const { body: log } = await ask<{ deliveries: Record<string, unknown>[] }>(
      'GET',
      `${path}/deliveries`,
    );
    expect(log.deliveries.map((one) => one['message_id'])).toEqual(['m4', 'm3', 'm2', 'm1']);
    expect(Object.keys(log.deliveries[0] ?? {})).toEqual([
      ...[
        'id',
        'message_id',
        'event',
        'status',
        'attempts',
        'response_status',
        'error',
        'next_attempt_at',
        'created_at',
      ],
    ]);
    expect(log.deliveries[1]).toMatchObject({
      status: 'dead',
      attempts: 10,
      response_status: 500,
      error: 'broken',
      next_attempt_at: null,
    });
    expect(await ask('POST', `${path}/retry`)).toEqual({ status: 200, body: { requeued: 3 } });
    expect((await ask('POST', `${path}/retry`)).body).toEqual({ requeued: 0 });
    const after = await ask<{ deliveries: { status: string; attempts: number }[] }>(
      'GET',
      `${path}/deliveries`,
    );
    expect(after.body.deliveries.map(({ status, attempts }) => [status, attempts])).toEqual([
      ['succeeded', 10],
      ['pending', 0],
      ['pending', 0],
      ['pending', 0],
    ]);
    for (const [method, route] of [
      ['GET', `${path}/deliveries`],
      ['POST', `${path}/retry`],
      ['DELETE', path],
    ] as const)
      expect((await ask(method, route, undefined, stranger)).status, route).toBe(404);
    expect((await ask('PUT', '/v1/relays', { ...relay, id: body.id }, stranger)).status).toBe(404);
    expect((await ask('DELETE', path)).status).toBe(204);
  });
});

it('the relays service uses what was saved here: it opens the secret and attempts what is retried', async () => {
  const { accountId, writeKey } = await createAccount('control relays');
  const session = await enter(String(accountId));
  // The address guard refuses it for good, which is as far as a delivery goes without an endpoint.
  const relay = {
    name: 'Guarded',
    url: 'http://127.0.0.1:9/in',
    events: ['relayed'],
    filters: [],
    enabled: true,
    secret: SECRET,
  };
  const { body } = await ask<{ id: number }>('PUT', '/v1/relays', relay, session);
  const track = {
    base: readyStack().ingest_url,
    headers: { authorization: `Bearer ${writeKey}` },
    body: { event: 'relayed', user_id: 'u1' },
  };
  expect((await call('POST', '/v1/track', track)).status).toBe(200);
  const dead = () =>
    eventually(
      { ms: 30_000, waitingFor: 'a delivery that the address guard refused' },
      async () => {
        const log = await ask<{ deliveries: Record<string, unknown>[] }>(
          'GET',
          `/v1/relays/${body.id}/deliveries`,
          undefined,
          session,
        );
        return log.body.deliveries.find(({ status }) => status === 'dead');
      },
    );
  expect(await dead()).toMatchObject({ event: 'relayed', attempts: 1, response_status: null });
  expect((await ask('POST', `/v1/relays/${body.id}/retry`, undefined, session)).body).toEqual({
    requeued: 1,
  });
  expect(await dead()).toMatchObject({ attempts: 1 });
});

describe('the record of changes', () => {
  interface Line {
    action: string;
    actor: string;
    details: Record<string, unknown>;
  }

  it('has an audit line with the destination for every change', async () => {
    const { rows } = await database.query<Line>(
      "SELECT action, actor, details FROM audit_lines WHERE account_id = $1 AND actor LIKE 'member:%' ORDER BY id",
      [account],
    );
    const actions = new Set(rows.map(({ action }) => action));
    expect([...actions].sort()).toEqual(
      [
        ...['integration.saved', 'integration.enabled', 'integration.disabled'],
        ...['relay.saved', 'relay.deleted', 'relay.retried'],
        'member.signed_in',
      ].sort(),
    );
    for (const { action, details } of rows.filter(({ action: one }) => one.startsWith('relay.')))
      expect(details, action).toMatchObject({
        destination: 'https://hooks.example/in',
        relay_id: expect.any(Number) as number,
      });
    expect(rows.find(({ action }) => action === 'relay.saved')?.details).toMatchObject({
      secret: 'set',
    });
    answers.push(JSON.stringify(rows));
  });

  it('has an audit line for accounts, allowed addresses, keys and their revocation', async () => {
    const audited = await makeAccount();
    const write = await admin<{ write_key_id: number }>(
      ...['write-key', 'create', '--account', audited, '--app', 'a', '--environment', 'e'],
    );
    const management = await admin<{ api_key_id: number }>(
      ...['management-key', 'create', '--account', audited, '--role', 'viewer'],
    );
    await admin('write-key', 'revoke', '--id', String(write.write_key_id));
    await admin('management-key', 'revoke', '--id', String(management.api_key_id));
    await admin('account', 'set', '--account', audited, 'ip_allow=192.0.2.0/24');
    const { rows } = await database.query<Line>(
      'SELECT action, actor, details FROM audit_lines WHERE account_id = $1 ORDER BY id',
      [audited],
    );
    expect(rows.map(({ action, details }) => [action, details])).toEqual([
      ['account.created', {}],
      ['write_key.created', expect.objectContaining({ write_key_id: write.write_key_id })],
      ['management_key.created', expect.objectContaining({ role: 'viewer' })],
      ['write_key.revoked', { write_key_id: write.write_key_id }],
      ['management_key.revoked', { management_key_id: management.api_key_id }],
      ['account.changed', { ip_allow: ['192.0.2.0/24'], before: { ip_allow: [] } }],
    ]);
    expect(new Set(rows.map(({ actor }) => actor))).toEqual(new Set(['operator']));
  });

  it('has no secret in an answer, an audit line or the log of the service', () => {
    const log = partLog();
    expect(log).toContain('a member signed in');
    for (const text of [...answers, log]) expect(text).not.toContain(SECRET);
    for (const hidden of [owner, stranger, 'hidden-password', 'hidden-key', '@test.example'])
      expect(log).not.toContain(hidden);
    expect(answers.at(-1)).not.toMatch(/hidden-(password|key)/);
  });
});
