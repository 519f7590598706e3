import { beforeAll, describe, expect, it } from 'vitest';
import { integrationRoutes } from '../../../control-plane/routes/table.ts';
import { createAccount, readyStack, type TestAccount } from '../../support/stack.ts';
import { call, control, controlUrl, enter, type Reply } from './panel.ts';

/** Ingest 4.9. */
const table: readonly { method: string; path: string; permission: string; body?: object }[] = [
  { method: 'GET', path: '/v1/integrations', permission: 'settings.read' },
  {
    method: 'PUT',
    path: '/v1/integrations',
    permission: 'settings.write',
    body: { source: 'event_pipeline', label: '', secret: '' },
  },
  {
    method: 'POST',
    path: '/v1/integrations/{source}/enabled',
    permission: 'settings.write',
    body: { enabled: true },
  },
  { method: 'GET', path: '/v1/relays', permission: 'settings.read' },
  {
    method: 'PUT',
    path: '/v1/relays',
    permission: 'settings.write',
    body: { name: 'n', url: 'https://x.example', events: [], filters: [] },
  },
  { method: 'DELETE', path: '/v1/relays/{id}', permission: 'settings.write' },
  { method: 'GET', path: '/v1/relays/{id}/deliveries', permission: 'settings.read' },
  { method: 'POST', path: '/v1/relays/{id}/retry', permission: 'settings.write' },
];
const rows = table.map((row) => ({
  ...row,
  name: `${row.method} ${row.path}`,
  filled: row.path.replace('{source}', 'event_pipeline').replace('{id}', '1'),
}));
const reading = rows.filter(({ body }) => body !== undefined);

let account: TestAccount;
let owner: string;
beforeAll(async () => {
  account = await createAccount('control routes');
  owner = await enter(String(account.accountId));
});

function expectRefusal(reply: Reply, status: number, body: object): void {
  expect({ status: reply.status, body: reply.body }).toMatchObject({ status, body });
  expect(Object.keys(reply.body as object).sort()).toEqual(Object.keys(body).sort());
  expect(reply.headers['x-service-trace']).toMatch(/^[0-9a-f]{16}$/);
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(reply.headers['cache-control']).toBe('no-store');
}

const signedOut = { error: 'sign in first: POST /api/session', code: 'unauthenticated' };

it('the table of the code is the table of the specification', () => {
  const facts = (
    all: readonly { method: string; path: string; permission?: string | undefined }[],
  ) => all.map(({ method, path, permission }) => [method, path, permission]);
  expect(facts(integrationRoutes)).toEqual(facts(table));
});

describe('a request without a session', () => {
  it.each(rows)('is answered 401 by $name', async ({ method, filled, body }) => {
    const { writeKey, managementKey } = account;
    expectRefusal(await control(method, filled, { body }), 401, signedOut);
    expectRefusal(await control(method, filled, { body, session: 'A'.repeat(43) }), 401, signedOut);
    for (const key of [writeKey, managementKey]) {
      const headers = {
        authorization: `Bearer ${key}`,
        'x-service-key': key,
        cookie: `service_session=${key}`,
      };
      expectRefusal(await control(method, filled, { body, headers }), 401, signedOut);
    }
  });

  it.each(rows)(
    'is answered 401 by $name on the control plane itself',
    async ({ method, filled, body }) => {
      const headers = {
        'x-panel-pass': 'guessed',
        'x-panel-client': '127.0.0.1',
        authorization: `Bearer ${account.managementKey}`,
      };
      expectRefusal(
        await call(method, filled, { body, headers, base: controlUrl() }),
        401,
        signedOut,
      );
    },
  );

  it('is answered 401 on an unserved path too', async () => {
    expectRefusal(await control('GET', '/v1/secrets'), 401, signedOut);
  });
});

describe('a role without the permission', () => {
  const roles = ['marketer', 'analyst', 'viewer', 'approver', 'finance'];
  it('cannot read or write settings, through the panel or directly', async () => {
    const sessions = await Promise.all(roles.map((role) => enter(String(account.accountId), role)));
    for (const [at, session] of sessions.entries()) {
      for (const { method, filled, body, permission } of rows) {
        const refusal = {
          error: `your role ${roles[at] ?? ''} lacks the permission ${permission}`,
          code: 'forbidden',
          need: permission,
        };
        expectRefusal(await control(method, filled, { session, body: body ?? '{' }), 403, refusal);
        expectRefusal(
          await call(method, filled, { session, body: '{', base: controlUrl() }),
          403,
          refusal,
        );
      }
    }
  });

  it('is any but owner and admin, and an admin can read settings', async () => {
    expect(
      (
        await control('GET', '/v1/relays', {
          session: await enter(String(account.accountId), 'admin'),
        })
      ).body,
    ).toEqual({ relays: [] });
  });
});

describe('a malformed body', () => {
  it.each(reading)('is refused by $name', async ({ method, filled }) => {
    for (const body of ['{', '', '{"a":1}x'])
      expectRefusal(await control(method, filled, { session: owner, body }), 400, {
        error: 'malformed JSON',
        code: 'malformed_json',
      });
    for (const body of ['null', '[]', '5', '"x"', '{}', '{"enabled":"true"}']) {
      const reply = await control(method, filled, { session: owner, body });
      expect([reply.status, (reply.body as { code: string }).code], body).toEqual([
        400,
        'invalid_request',
      ]);
    }
    const long = await control(method, filled, {
      session: owner,
      body: `{}${' '.repeat(2 ** 20)}`,
    });
    expect([long.status, (long.body as { code: string }).code]).toEqual([413, 'body_too_large']);
  });
});

describe('a request that no route serves', () => {
  const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'];
  const wrong = [...new Set(rows.map(({ filled }) => filled))].flatMap((path) =>
    METHODS.filter(
      (method) => !rows.some((row) => row.filled === path && row.method === method),
    ).map((method): [string, string] => [method, path]),
  );
  it.each([
    ...wrong,
    ['GET', '/v1/'],
    ['GET', '/v1/relays/'],
    ['GET', '/v1/whoami'],
    ['GET', '/v1/integrations/event_pipeline'],
  ] as [string, string][])('is answered 404: %s %s', async (method, path) => {
    const reply = await control(method, `${path}?secret=1`, { session: owner });
    expectRefusal(reply, 404, {
      error: `no such endpoint: ${method} ${path}`,
      code: 'unknown_endpoint',
    });
  });

  it.each([
    ['GET', '/'],
    ['GET', '/v1/relays'],
    ['GET', '/api'],
    ['GET', '/api/proxy'],
    ['GET', '/api/proxy/v2/relays'],
    ['PUT', '/api/session'],
    ['OPTIONS', '/api/session'],
    ['OPTIONS', '/api/proxy/v1/relays'],
    ['HEAD', '/api/session'],
  ])('is answered 404 on the panel: %s %s', async (method, path) => {
    const reply = await call(method, path, { session: owner });
    expect(reply.status).toBe(404);
  });

  it.each(['0', '-1', 'x', '1.5', '99999999999999999999', '1%20'])(
    'is answered 400 when it has %s in place of an id',
    async (id) => {
      for (const [method, path] of [
        ['DELETE', `/v1/relays/${id}`],
        ['GET', `/v1/relays/${id}/deliveries`],
        ['POST', `/v1/relays/${id}/retry`],
      ] as const)
        expect((await control(method, path, { session: owner })).status, path).toBe(400);
    },
  );
});

describe('outside of the control plane', () => {
  it.each(rows)(
    '$name is answered 404 by the management host',
    async ({ method, filled, body }) => {
      const headers = { authorization: `Bearer ${account.managementKey}` };
      const reply = await call(method, filled, {
        base: readyStack().base_url,
        session: owner,
        headers,
        body,
      });
      expect([reply.status, reply.body]).toEqual([
        404,
        {
          error: {
            code: 'unknown_endpoint',
            message: `no such endpoint: ${method} ${filled}; see GET /v1/capabilities`,
          },
        },
      ]);
    },
  );

  it.each(rows)('$name is not served by the ingest host', async ({ method, filled, body }) => {
    const reply = await call(method, filled, {
      base: readyStack().ingest_url,
      session: owner,
      body,
    });
    expect([404, 405]).toContain(reply.status);
  });

  it('a session is no key of the management host', async () => {
    const reply = await call('GET', '/v1/whoami', { base: readyStack().base_url, session: owner });
    expect([reply.status, reply.body]).toMatchObject([
      401,
      { error: { code: 'api_key_required' } },
    ]);
  });
});
