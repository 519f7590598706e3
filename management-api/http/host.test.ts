import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { buildApp } from '../app.ts';
import type { StoredKey } from '../auth/decide.ts';
import { AccountBusy } from '../../account-api/limits/account-slots.ts';
import { OpenRequests } from '../../account-api/limits/open-requests.ts';
import { decideFeatures } from '../../account-api/features.ts';
import { setTracing } from '../../platform/tracing/spans.ts';
import { recordedTracing } from '../../platform/tracing/testing/recorded-tracing.ts';
import type { Services } from '../services.ts';

const KEY: StoredKey = {
  keyId: 7,
  accountId: 3,
  role: 'admin',
  expiresAt: Infinity,
  revoked: false,
  accountActive: true,
  messageLimit: null,
  ipAllow: [],
};
const ON = {
  ...{ segments: true, analytics: true, ingest: true, asyncExports: true },
  ...{ campaigns: true, campaignRecurrence: true, campaignApproval: true },
  transactional: true,
};
const FUNNEL = { steps: [{ event: 'a' }, { event: 'b' }], from: '2026-01-01', to: '2026-01-02' };

/** Reports of which each does the same. */
function reportsThat(answer: () => Promise<never>): Services['reports'] {
  return { funnel: answer, retention: answer, trends: answer, paths: answer, people: answer };
}

function build({ key = {}, ...changes }: Partial<Services> & { key?: Partial<StoredKey> } = {}) {
  const asked: string[] = [];
  const unused = () => Promise.reject(new Error('not asked for in this test'));
  const services = {
    log: createLog({ part: 'test', level: 'silent' }),
    version: '9.9',
    features: decideFeatures(ON),
    resolveToken: () => (
      asked.push('key'),
      Promise.resolve({ kind: 'key', key: { ...KEY, ...key } })
    ),
    chargeBudget: ({ units }) => (asked.push(`budget ${units}`), Promise.resolve(units)),
    budgetPerMinute: 600,
    checkLock: () => (asked.push('lock'), Promise.resolve(undefined)),
    openRequests: new OpenRequests(2),
    mergesOf: () => Promise.resolve('none'),
    freshness: { freshUntil: () => Promise.resolve(0) },
    reports: {
      funnel: () => Promise.resolve({ steps: [] }),
      retention: () => Promise.resolve({ cohorts: [] }),
    },
    ...Object.fromEntries(
      ['audiences', 'segments', 'imports', 'exports', 'schema', 'quality'].map((name) => [
        name,
        new Proxy({}, { get: () => unused }),
      ]),
    ),
    ...changes,
  } as Services;
  const app = buildApp({ services, trustedProxies: ['127.0.0.1'] });
  const funnel = (body: unknown = FUNNEL, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/v1/reports/funnel',
      headers: { 'x-service-key': 'sk_svc_x', ...headers },
      payload: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return { app, asked, funnel };
}

describe('the host (management 3.1, 5, 8.1)', () => {
  it('checks the key, charges the budget, checks the lock, then runs the handler', async () => {
    const { asked, funnel } = build();
    expect((await funnel()).json()).toEqual({ steps: [] });
    expect(asked).toEqual(['key', 'budget 25', 'lock']);
  });

  it('rejects a write key without a lookup', async () => {
    const { asked, funnel } = build();
    expect((await funnel(FUNNEL, { 'x-service-key': 'wk_svc_x' })).json()).toMatchObject({
      error: { code: 'write_key_rejected' },
    });
    expect(asked).toEqual([]);
  });

  it('rejects an address, then a role, without a charge', async () => {
    const role = build({ key: { role: 'finance' } });
    expect((await role.funnel()).json()).toMatchObject({
      error: { code: 'forbidden', need: 'analytics.read' },
    });
    expect(role.asked).toEqual(['key']);
    const address = build({ key: { role: 'finance', ipAllow: ['192.0.2.0/24'] } });
    const refusal = await address.funnel();
    expect([refusal.statusCode, refusal.json<{ code: string }>().code]).toEqual([
      403,
      'ip_not_allowed',
    ]);
    expect((await address.funnel(FUNNEL, { 'x-forwarded-for': '192.0.2.9' })).json()).toMatchObject(
      { error: { code: 'forbidden' } },
    );
    expect(address.asked).toEqual(['key', 'key']);
  });

  it('charges before the lock and before the body is read', async () => {
    const exhausted = build({ chargeBudget: () => Promise.resolve(601) });
    const refusal = await exhausted.funnel('{');
    expect([refusal.statusCode, refusal.headers['retry-after']]).toEqual([429, '60']);
    expect(exhausted.asked).toEqual(['key']);
    const locked = build({ checkLock: () => Promise.resolve('usage_300') });
    expect((await locked.funnel('{')).json()).toMatchObject({
      error: { code: 'account_locked', details: { reason: 'usage_300' } },
    });
    expect(locked.asked).toEqual(['key', 'budget 25']);
    const malformed = build();
    expect((await malformed.funnel('{')).json()).toMatchObject({ code: 'invalid_report' });
    expect(malformed.asked).toEqual(['key', 'budget 25', 'lock']);
  });

  it('answers 503 while the counters are unavailable, except on /v1/status', async () => {
    const { app, funnel } = build({ chargeBudget: () => Promise.reject(new Error('unavailable')) });
    expect((await funnel()).json()).toMatchObject({ error: { code: 'budget_unavailable' } });
    expect(
      (await app.inject({ url: '/v1/whoami', headers: { 'x-service-key': 'sk_svc_x' } }))
        .statusCode,
    ).toBe(503);
    expect((await app.inject({ url: '/v1/status' })).json()).toEqual({
      status: 'ok',
      service: 'api',
      version: '9.9',
    });
  });

  it('answers 503, not 401, while keys cannot be looked up', async () => {
    const { funnel } = build({ resolveToken: () => Promise.reject(new Error('unavailable')) });
    expect((await funnel()).json()).toMatchObject({ error: { code: 'key_lookup_unavailable' } });
  });
});

describe('what one account may have in progress', () => {
  const WAIT = { code: 'budget_exhausted', message: expect.stringContaining('wait') as string };

  it('is a number of requests; the next one is answered 429 until one has its answer', async () => {
    const gates: (() => void)[] = [];
    const reports = {
      funnel: () => new Promise((resolve) => gates.push(() => resolve({ steps: [] }))),
    } as unknown as Services['reports'];
    const { app, funnel } = build({ reports });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const url = `${app.listeningOrigin}/v1/reports/funnel`;
    const ask = () =>
      fetch(url, {
        method: 'POST',
        headers: { 'x-service-key': 'sk_svc_x' },
        body: JSON.stringify(FUNNEL),
      });
    const pending = [ask(), ask()];
    await vi.waitFor(() => expect(gates).toHaveLength(2), { timeout: 20_000 });
    const refusal = await funnel();
    expect([refusal.statusCode, refusal.headers['retry-after'], refusal.json()]).toEqual([
      ...[429, '60', { error: WAIT }],
    ]);
    gates.shift()?.();
    const isAsked = () => vi.waitUntil(() => gates.length === 2, { timeout: 20_000 });
    await vi.waitFor(
      async () => {
        pending.push(ask());
        expect((await Promise.race([pending.at(-1), isAsked()])) as unknown).toBe(true);
      },
      { timeout: 20_000 },
    );
    for (const open of gates) open();
    const answers = await Promise.all(pending);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    await app.close();
  });

  it('is a number of waiting queries: 429 for a report and for a count', async () => {
    const busy = () => Promise.reject(new AccountBusy('account 3 has 20 queries waiting'));
    const { app, funnel } = build({
      reports: reportsThat(busy),
      countAudience: busy,
    });
    const count = await app.inject({
      ...{ method: 'POST', url: '/v1/audiences/count' },
      headers: { 'x-service-key': 'sk_svc_x' },
      payload: '{"attribute":"city","op":"is_set"}',
    });
    for (const refusal of [await funnel(), count])
      expect([refusal.statusCode, refusal.json()]).toEqual([429, { error: WAIT }]);
  });

  it('is an amount of memory: a report that exceeds it is answered with a sentence of its own', async () => {
    const exceeded = () =>
      Promise.reject(Object.assign(new Error('memory limit exceeded'), { code: '241' }));
    const answer = await build({ reports: reportsThat(exceeded) }).funnel();
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      { error: expect.stringContaining('حافظه') as string },
    ]);
  });
});

describe('the catch-all (management 1.4)', () => {
  it.each([
    ['PUT', '/v1/campaigns/5'],
    ['OPTIONS', '/v1/status'],
    ['POST', '/v1/status'],
    ['GET', '/api/v1/events'],
    ['GET', '/v1/status/'],
    ['GET', '/v1/messages'],
    ['DELETE', '/v1/%ZZ'],
  ] as const)('answers 404 to %s %s', async (method, path) => {
    const { app, asked } = build();
    const answer = await app.inject({
      method,
      url: `${path}?secret=1`,
      ...(method === 'GET' ? {} : { payload: '{' }),
    });
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toEqual({
      error: {
        code: 'unknown_endpoint',
        message: `no such endpoint: ${method} ${path}; see GET /v1/capabilities`,
      },
    });
    expect(answer.headers['x-service-trace']).toMatch(/^[0-9a-f]{16}$/);
    expect(asked).toEqual([]);
  });

  it('answers 404 on the routes of a feature that is off', async () => {
    const { app } = build({ features: decideFeatures({ ...ON, analytics: false }) });
    expect((await app.inject({ method: 'POST', url: '/v1/reports/funnel' })).json()).toMatchObject({
      error: { code: 'unknown_endpoint' },
    });
  });

  it('answers 404 to HEAD', async () => {
    expect((await build().app.inject({ method: 'HEAD', url: '/v1/status' })).statusCode).toBe(404);
  });
});

describe('every answer', () => {
  it('echoes a trace of 8 to 64 lowercase hexadecimal characters and replaces anything else', async () => {
    const { app } = build();
    const traceFor = async (sent: string) =>
      (await app.inject({ url: '/v1/status', headers: { 'x-service-trace': sent } })).headers[
        'x-service-trace'
      ];
    expect(await traceFor('abcdef01')).toBe('abcdef01');
    expect(await traceFor('0'.repeat(64))).toBe('0'.repeat(64));
    for (const bad of ['abcdef0', '0'.repeat(65), 'ABCDEF01', 'xyz'])
      expect(await traceFor(bad)).toMatch(/^(?!xyz|abcdef0$)[0-9a-f]{16}$/);
  });

  it('is a 500 with the envelope when a handler throws', async () => {
    const { funnel } = build({ checkLock: () => Promise.reject(new Error('broken')) });
    const answer = await funnel();
    expect([answer.statusCode, answer.json()]).toMatchObject([
      500,
      { error: { code: 'internal' } },
    ]);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('is independent of the content type of a body, which is read up to the limit', async () => {
    const { funnel } = build();
    for (const type of ['text/plain', 'nonsense', 'multipart/form-data'])
      expect((await funnel(FUNNEL, { 'content-type': type })).statusCode).toBe(200);
    const room = 2 ** 20 - JSON.stringify(FUNNEL).length;
    expect((await funnel(JSON.stringify(FUNNEL) + ' '.repeat(room))).statusCode).toBe(200);
    expect((await funnel(JSON.stringify(FUNNEL) + ' '.repeat(room + 1))).statusCode).toBe(400);
    expect((await funnel('')).statusCode).toBe(400);
  });
});

it('a sampled request has a span by the pattern of its route, and says what it was answered', async () => {
  const { lines, tracing } = recordedTracing();
  setTracing(tracing);
  onTestFinished(() => setTracing(undefined));
  const { app, funnel } = build();
  expect((await funnel(FUNNEL, { traceparent: 'client' })).statusCode).toBe(200);
  await app.inject({
    ...{ method: 'GET', url: '/v1/segments/12345' },
    headers: { 'x-service-key': 'sk_svc_x', traceparent: 'other' },
  });
  expect(lines).toEqual([
    ...['begin client POST /v1/reports/funnel', 'end client POST /v1/reports/funnel 200'],
    'begin other GET /v1/segments/{id}',
    'end other GET /v1/segments/{id} 503: it was answered with our fault',
  ]);
});
