import { beforeAll, describe, expect, it } from 'vitest';
import { admin, readyStack } from '../../support/stack.ts';
import { call, coded, makeAccount, makeKey, setAccount, TRACE } from './host.ts';

let account: string;
let key: string;
beforeAll(async () => {
  account = await makeAccount();
  ({ key } = await makeKey(account, 'viewer'));
});

const unauthenticated = coded('unauthenticated', 'a valid API key is required');
const whoami = (headers: Record<string, string>) => call('GET', '/v1/whoami', { headers });

describe('credentials (management 5)', () => {
  it('are read from three places, of which the first is used; a key in a cookie is none', async () => {
    for (const headers of [{ authorization: `bEARER ${key}` }, { 'x-service-key': key }])
      expect((await whoami(headers)).status).toBe(200);
    for (const cookie of [`__Host-service_session=${key}`, `service_session=${key}`]) {
      const reply = await whoami({ cookie });
      expect([reply.status, reply.body]).toEqual([401, unauthenticated]);
      expect((await whoami({ cookie, 'x-service-key': key })).status).toBe(200);
    }
    expect((await whoami({ authorization: `Basic ${key}`, 'x-service-key': key })).status).toBe(
      200,
    );
    expect((await whoami({ authorization: 'Bearer nonsense', 'x-service-key': key })).body).toEqual(
      unauthenticated,
    );
  });

  it('get the same answer when they are unknown, revoked or of a suspended account', async () => {
    const revoked = await makeKey(account, 'admin');
    await admin('management-key', 'revoke', '--id', revoked.id);
    const suspended = await makeAccount();
    const { key: ofSuspended } = await makeKey(suspended, 'admin');
    await setAccount(suspended, { status: 'suspended' });
    for (const one of [`sk_svc_${'A'.repeat(43)}`, 'nonsense', revoked.key, ofSuspended]) {
      const reply = await call('GET', '/v1/whoami', { key: one });
      expect([reply.status, reply.body]).toEqual([401, unauthenticated]);
    }
  });

  it('with the prefix of a write key are rejected, with two ellipses in the message', async () => {
    for (const one of ['wk_', readyStack().demo.write_key].filter((text) => text !== '')) {
      const reply = await call('GET', '/v1/whoami', { key: one });
      expect([reply.status, reply.body]).toEqual([
        401,
        coded(
          'write_key_rejected',
          'write keys (wk_svc_\u2026) are not accepted here; use a management key (sk_svc_\u2026)',
        ),
      ]);
    }
  });

  it('are rejected with key_expired after their expiry', async () => {
    const { key: expired } = await makeKey(account, 'admin', '--expires-in-days', '-1');
    const reply = await call('GET', '/v1/whoami', { key: expired });
    expect([reply.status, reply.body]).toEqual([
      401,
      coded('key_expired', 'this API key has expired; create a new one in the panel'),
    ]);
  });

  it('from an address outside the allow-list are rejected with a flat Persian message and a code', async () => {
    const closed = await makeAccount({ ip_allow: '203.0.113.0/24' });
    const { key: outside } = await makeKey(closed, 'admin');
    const reply = await call('GET', '/v1/whoami', { key: outside });
    const error =
      'دسترسی از این نشانی اینترنتی مجاز نیست؛ مدیر حساب باید آن را به فهرست نشانی‌های مجاز بیفزاید.';
    expect([reply.status, reply.body]).toEqual([403, { error, code: 'ip_not_allowed' }]);
    await setAccount(closed, { ip_allow: '203.0.113.0/24,127.0.0.0/8,::1' });
    expect((await call('GET', '/v1/whoami', { key: outside })).status).toBe(200);
  });
});

describe('introspection (management 2.1 to 2.3)', () => {
  it('answers GET /v1/status without a key', async () => {
    const { body, headers } = await call('GET', '/v1/status');
    expect(body).toEqual({ status: 'ok', service: 'api', version: expect.any(String) as string });
    expect(Math.abs(Date.parse(headers.get('x-server-time') ?? '') - Date.now())).toBeLessThan(
      60_000,
    );
    expect(headers.get('x-server-time')).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(headers.get('cache-control')).toBe('no-store, no-cache, must-revalidate');
  });

  it('lists the sorted permissions of every role in GET /v1/whoami', async () => {
    const reading = [
      'analytics.read',
      'campaign.read',
      'event.read',
      'journey.read',
      'segment.read',
      'template.read',
    ];
    const made = await makeKey(account, 'viewer');
    expect((await call('GET', '/v1/whoami', { key: made.key })).body).toEqual({
      tenant_id: Number(account),
      api_key_id: Number(made.id),
      role: 'viewer',
      permissions: reading,
      scoped: false,
    });
    const { key: finance } = await makeKey(account, 'finance');
    expect((await call('GET', '/v1/whoami', { key: finance })).body).toMatchObject({
      role: 'finance',
      permissions: ['billing.read', 'billing.write'],
    });
    const { key: owner } = await makeKey(account, 'admin');
    const { permissions } = (await call('GET', '/v1/whoami', { key: owner })).body as {
      permissions: string[];
    };
    expect(permissions).toHaveLength(26);
    expect(permissions).toEqual([...permissions].sort());
  });

  it('lists features and limits in GET /v1/capabilities', async () => {
    expect((await call('GET', '/v1/capabilities', { key })).body).toEqual({
      version: 'v1',
      features: {
        ...{ segments: true, analytics: true, transactional: true, ingest: true, import: true },
        ...{ campaigns: true, campaign_recurrence: true, campaign_approval: true },
        ...{ async_exports: true, export: false, journeys: false },
      },
      limits: {
        max_page_size: 100,
        max_preview_rows: 100,
        max_batch_size: 500,
        estimate_sample: 100,
        query_timeout_sec: 30,
      },
    });
  });
});

it('a trace of 8 to 64 lowercase hexadecimal characters is echoed, anything else replaced (management 7.8)', async () => {
  const traceFor = async (trace: string) =>
    (await call('GET', '/v1/status', { headers: { 'x-service-trace': trace } })).headers.get(
      'x-service-trace',
    );
  expect(await traceFor('deadbeef')).toBe('deadbeef');
  expect(await traceFor('a'.repeat(64))).toBe('a'.repeat(64));
  for (const bad of ['deadbee', 'a'.repeat(65), 'DEADBEEF'])
    expect(await traceFor(bad)).toMatch(TRACE);
});

it('the trace is the end of the trace-id of a traceparent when no valid X-Service-Trace is sent (management 7.8)', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const traceFor = async (headers: Record<string, string>) =>
    (await call('GET', '/v1/status', { headers })).headers.get('x-service-trace');
  expect(await traceFor({ traceparent })).toBe('a3ce929d0e0e4736');
  expect(await traceFor({ traceparent, 'x-service-trace': 'XYZ' })).toBe('a3ce929d0e0e4736');
  expect(await traceFor({ traceparent, 'x-service-trace': 'deadbeef' })).toBe('deadbeef');
  expect(await traceFor({ traceparent: `${traceparent}0` })).toMatch(TRACE);
});
