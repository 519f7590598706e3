import { beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../../management-api/routes.ts';
import { call, coded, makeAccount, makeKey, minuteWithRoom, TRACE, type Reply } from './host.ts';
import { pathOf, specTable, type SpecRow } from './spec-table.ts';

const rows = specTable.map((row) => ({ ...row, name: `${row.method} ${row.path}` }));
const withKey = rows.filter(({ cost }) => cost !== undefined);
const OVERDUE =
  'بیش از ۷۵ روز از سررسید صورت‌حساب این حساب گذشته است؛ گزارش‌ها و خروجی‌ها تا پرداخت آن بسته‌اند. دریافت رویدادها و ارسال پیام‌ها ادامه دارد.';

let account: string;
beforeAll(async () => {
  account = await makeAccount();
});

/** A key of its own for each row, so that budgets do not meet. */
const adminKey = async () => (await makeKey(account, 'admin')).key;

function expectReply(reply: Reply, status: number, body: unknown): void {
  expect({ status: reply.status, body: reply.body }).toEqual({ status, body });
  expect(reply.headers.get('x-service-trace')).toMatch(TRACE);
  if (body !== undefined)
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
}

it('the route table of the code equals that of the specification', () => {
  const facts = routes.map((route) => ({
    method: route.method,
    path: route.path,
    permission: route.auth === 'key' ? route.permission : undefined,
    cost: route.auth === 'key' ? route.cost : undefined,
    lock: route.auth === 'key' && route.lock,
  }));
  const byName = (a: { method: string; path: string }, b: { method: string; path: string }) =>
    `${a.path} ${a.method}`.localeCompare(`${b.path} ${b.method}`);
  const spec = specTable.map(({ method, path, permission, cost, lock }) => ({
    method,
    path,
    permission,
    cost,
    lock,
  }));
  expect(facts.toSorted(byName)).toEqual(spec.toSorted(byName));
});

describe('a request without a key', () => {
  it.each(withKey)('is answered 401 by $name', async (row) => {
    expectReply(
      await call(row.method, pathOf(row), bodyFor(row)),
      401,
      coded('unauthenticated', 'a valid API key is required'),
    );
  });
});

describe('a role without the permission', () => {
  it.each(withKey.filter(({ permission }) => permission !== undefined))(
    'is rejected by $name free of charge',
    async (row) => {
      const { key } = await makeKey(account, 'finance');
      const message = `this key's role lacks the permission ${row.permission ?? ''}; see GET /v1/whoami`;
      const refusal = await call(row.method, pathOf(row), { key, ...bodyFor(row) });
      expectReply(refusal, 403, coded('forbidden', message, { need: row.permission }));
    },
  );

  it('spends nothing: after thirty rejections on a heavy route the whole budget is left', async () => {
    const { key } = await makeKey(account, 'finance');
    await minuteWithRoom(20);
    for (let time = 0; time < 30; time++)
      expect((await call('POST', '/v1/audiences/count', { key, body: '{' })).status).toBe(403);
    expect((await call('GET', '/v1/whoami', { key })).status).toBe(200);
  });
});

describe('the budget of requests', () => {
  it('allows 24 heavy calls in a minute, failed ones included; then every route answers 429', async () => {
    const key = await adminKey();
    await minuteWithRoom(35);
    for (let time = 0; time < 24; time++)
      expectReply(await call('POST', '/v1/audiences/count', { key, body: '{' }), 400, {
        error: 'malformed JSON',
      });
    const exhausted = coded(
      'budget_exhausted',
      'the request budget of this key is used up for this minute',
    );
    for (const row of withKey) {
      const refusal = await call(row.method, pathOf(row), { key, ...bodyFor(row) });
      expectReply(refusal, 429, exhausted);
      expect(refusal.headers.get('retry-after')).toBe('60');
      expect([...refusal.headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual(
        [],
      );
    }
    expect((await call('GET', '/v1/status', { key })).status).toBe(200);
  });
});

describe('a locked account', () => {
  it('is rejected on exactly the routes behind the lock, after the charge', async () => {
    const locked = await makeAccount({ invoice_due_at: '2026-01-01T00:00:00Z' });
    for (const row of withKey) {
      const { key } = await makeKey(locked, 'admin');
      const reply = await call(row.method, pathOf(row), { key, ...bodyFor(row) });
      if (row.lock)
        expectReply(
          reply,
          403,
          coded('account_locked', OVERDUE, { details: { reason: 'overdue_75' } }),
        );
      else expect(reply.status, row.name).not.toBe(403);
    }
  });

  it('stays open when a declared payment waits for the bank', async () => {
    const disarmed = await makeAccount({
      invoice_due_at: '2026-01-01T00:00:00Z',
      payment_declared: 'true',
    });
    const { key } = await makeKey(disarmed, 'admin');
    expect((await call('GET', '/v1/exports', { key })).body).toEqual({ data: [], has_more: false });
  });
});

describe('a body', () => {
  const reading = rows.filter(({ malformed }) => malformed !== undefined);
  it.each(reading)('that is malformed is rejected by $name', async (row) => {
    const key = await adminKey();
    for (const body of ['{', '', '{"a":1}x'])
      expectMalformed(await call(row.method, pathOf(row), { key, body }), row);
  });

  it.each(reading.filter(({ malformed }) => malformed !== 'coded'))(
    'of more than 1 MiB is rejected by $name',
    async (row) => {
      expectMalformed(
        await call(row.method, pathOf(row), {
          key: await adminKey(),
          body: `{}${' '.repeat(2 ** 20)}`,
        }),
        row,
      );
    },
  );

  it.each(reading.filter(({ malformed }) => malformed === 'coded'))(
    'of more than 8 MiB is rejected by $name',
    async (row) => {
      expectMalformed(
        await call(row.method, pathOf(row), {
          key: await adminKey(),
          body: `{}${' '.repeat(8 * 2 ** 20)}`,
        }),
        row,
      );
    },
  );

  it('is read whatever its content type is', async () => {
    const key = await adminKey();
    const body = '{"trait":"tier","op":"is_set"}';
    for (const type of ['text/plain', 'image/png', 'nonsense'])
      expect(
        (
          await call('POST', '/v1/audiences/validate', {
            key,
            body,
            headers: { 'content-type': type },
          })
        ).status,
      ).toBe(200);
  });
});

function expectMalformed(reply: Reply, { malformed }: SpecRow): void {
  if (malformed === 'flat') return expectReply(reply, 400, { error: 'malformed JSON' });
  if (malformed === 'coded')
    return expectReply(reply, 400, coded('malformed_json', 'malformed JSON'));
  const error = 'بدنهٔ درخواست باید یک شیء JSON باشد و هر فیلد آن نوع درست خود را داشته باشد.';
  return expectReply(reply, 400, { error, code: 'invalid_report' });
}

describe('a request that no route serves', () => {
  const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];
  const wrong = [...new Set(rows.map(pathOf))].flatMap((path) =>
    METHODS.filter(
      (method) => !rows.some((row) => pathOf(row) === path && row.method === method),
    ).map((method): [string, string] => [method, path]),
  );

  const paths: [string, string][] = [
    ...wrong,
    ['GET', '/api/v1/events'],
    ['GET', '/v1/relays'],
    ['GET', '/v1/integrations'],
    ['GET', '/v2/status'],
    ['GET', '/v1/segments/'],
    ['GET', '/'],
  ];

  it.each(paths)('is answered 404: %s %s', async (method, path) => {
    const message = `no such endpoint: ${method} ${path}; see GET /v1/capabilities`;
    expectReply(await call(method, `${path}?secret=1`), 404, coded('unknown_endpoint', message));
  });

  it('is answered 404 with the method HEAD', async () => {
    expect((await call('HEAD', '/v1/status')).status).toBe(404);
  });
});

/** Something that the route could read, or nothing. */
function bodyFor({ malformed }: SpecRow): { body?: string } {
  return malformed === undefined ? {} : { body: '{}' };
}
