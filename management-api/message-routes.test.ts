import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TransactionalAnswer } from '../messaging/transactional/ports.ts';
import { createLog } from '../platform/log.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../platform/postgres/testing/migrated-database.ts';
import { buildApp } from './app.ts';
import { OpenRequests } from '../account-api/limits/open-requests.ts';
import { decideFeatures } from '../account-api/features.ts';
import type { Services } from './services.ts';
import { messageRate } from '../account-api/messages/rate-limit.ts';

const VALID = { user_id: 'u', template_id: 5, idempotency_key: 'order-1234', channel: 'sms' };
const SENT = { message_id: 't3.order-1234', channel: 'sms', status: 'sent' } as const;
const KEY = {
  ...{ keyId: 7, accountId: 3, role: 'marketer', expiresAt: Infinity, revoked: false },
  ...{ accountActive: true, ipAllow: [] },
} as const;
const log = createLog({ part: 'test', level: 'silent' });

interface Given {
  answer?: TransactionalAnswer;
  isOn?: boolean;
  checkRate?: Services['messages']['checkRate'];
  /** Of the account, as it is read with the key. */
  messageLimit?: number | null;
}

/** The host, with a sender that answers so. */
function host(given: Given = {}) {
  const { answer, isOn = true, checkRate = () => Promise.resolve({}), messageLimit = null } = given;
  const sent: object[] = [];
  const on = {
    ...{ segments: true, analytics: true, ingest: true, asyncExports: true },
    ...{ campaigns: true, campaignRecurrence: true, campaignApproval: true },
  };
  const app = buildApp({
    trustedProxies: [],
    services: {
      ...{ log, features: decideFeatures({ ...on, transactional: isOn }), budgetPerMinute: 600 },
      resolveToken: () => Promise.resolve({ kind: 'key', key: { ...KEY, messageLimit } }),
      chargeBudget: () => Promise.resolve(1),
      openRequests: new OpenRequests(32),
      messages: {
        checkRate,
        send: (request) => {
          sent.push(request);
          return Promise.resolve(answer ?? { kind: 'answered', result: SENT, isReplay: false });
        },
      },
    } as Partial<Services> as Services,
  });
  const post = async (body: unknown = VALID, headers: Record<string, string> = {}) => {
    const answered = await app.inject({
      ...{ method: 'POST', url: '/v1/messages' },
      headers: { 'x-service-key': 'sk_svc_x', ...headers },
      payload: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const { statusCode: status, headers: answeredHeaders } = answered;
    return { status, headers: answeredHeaders, body: answered.json<object>() };
  };
  return { post, sent };
}

describe('POST /v1/messages', () => {
  it('answers what became of the message', async () => {
    const { post, sent } = host();
    const { status, body } = await post({ ...VALID, vars: { code: 7 } });
    expect([status, body]).toEqual([200, { ...SENT, replayed: false }]);
    expect(sent).toMatchObject([
      {
        ...{ accountId: 3, userId: 'u', templateId: 5, channel: 'sms', vars: { code: 7 } },
        ...{ category: 'transactional', idempotencyKey: 'order-1234' },
      },
    ]);
  });

  it('answers a replay, and why nothing was sent, for people too', async () => {
    const result = { ...SENT, status: 'skipped', reason: 'no_address' } as const;
    const { post } = host({ answer: { kind: 'answered', result, isReplay: true } });
    expect((await post()).body).toEqual({
      ...{ ...result, replayed: true },
      reason_fa: 'این شخص در این کانال نشانی ندارد.',
    });
  });

  it.each<[TransactionalAnswer, number, string, string | undefined]>([
    [
      { kind: 'in_flight' },
      409,
      'transactional: a message with this idempotency key is already in flight',
      '1',
    ],
    [{ kind: 'unavailable' }, 503, 'message not sent', undefined],
    [
      { kind: 'marketing' },
      400,
      'transactional: this endpoint does not send marketing; use a campaign',
      undefined,
    ],
  ])('answers %j flat', async (answer, status, error, retryAfter) => {
    const answered = await host({ answer }).post();
    expect([answered.status, answered.body]).toEqual([status, { error }]);
    expect(answered.headers['retry-after']).toBe(retryAfter);
  });

  it('takes the key from the header when the body has none', async () => {
    const { post, sent } = host();
    await post({ ...VALID, idempotency_key: undefined }, { 'idempotency-key': 'from-header' });
    expect(sent).toMatchObject([{ idempotencyKey: 'from-header' }]);
  });

  it('refuses what it cannot read, and sends nothing', async () => {
    const { post, sent } = host();
    expect(await post({ ...VALID, colour: 1 })).toMatchObject({
      ...{ status: 400, body: { error: 'malformed JSON: unknown field "colour"' } },
    });
    expect(
      await post(JSON.stringify({ ...VALID, vars: { a: 'x'.repeat(262_144) } })),
    ).toMatchObject({ status: 400, body: { error: 'malformed JSON: the body exceeds 256 KiB' } });
    expect(sent).toEqual([]);
  });

  it('does not exist while the feature is off', async () => {
    expect(await host({ isOn: false }).post()).toMatchObject({
      ...{ status: 404, body: { error: { code: 'unknown_endpoint' } } },
    });
  });
});

describe('the rate limit of an account (management 8.2)', () => {
  let postgres: MigratedDatabase;
  beforeAll(async () => {
    postgres = await migratedDatabase(['0001']);
    await postgres.database.query("INSERT INTO accounts (id, name) VALUES (3, 'a')");
  }, 30_000);
  afterAll(() => postgres.close());

  const limited = async (limit: number | null, { isDown = false, defaultLimit = 0 } = {}) => {
    await postgres.database.query('UPDATE accounts SET api_rate_per_minute = $1', [limit]);
    const counters = new Map<string, number>();
    const count = (key: string, units: number) => {
      if (isDown) return Promise.reject(new Error('Redis is down'));
      counters.set(key, (counters.get(key) ?? 0) + units);
      return Promise.resolve(counters.get(key) ?? 0);
    };
    const checkRate = messageRate({ database: postgres.database, count, defaultLimit, log });
    return { checkRate, counters };
  };
  const limitsIn = (headers: Record<string, unknown>) => [
    headers['x-ratelimit-limit'],
    headers['x-ratelimit-remaining'],
  ];

  it('is on every answer, and refuses what exceeds it', async () => {
    const { checkRate } = await limited(null);
    const { post } = host({ checkRate, messageLimit: 3 });
    const answers = [
      ...[await post(), await post('{'), await post(VALID)],
      ...[await post(), await post('{')],
    ];
    expect(answers.map(({ status, headers }) => [status, ...limitsIn(headers)])).toEqual([
      ...[
        [200, '3', '2'],
        [400, '3', '1'],
        [200, '3', '0'],
      ],
      ...[
        [429, '3', '0'],
        [429, '3', '0'],
      ],
    ]);
    const [refused] = answers.slice(-1);
    expect(refused?.body).toEqual({ error: 'rate limit exceeded: 3 requests per minute' });
    expect(refused?.headers['retry-after']).toBe('60');
    const failing = host({
      ...{ checkRate, messageLimit: 12 },
      answer: { kind: 'unavailable' },
    });
    expect(limitsIn((await failing.post()).headers)).toEqual(['12', '6']);
  });

  it('is counted by account and calendar minute', async () => {
    const { checkRate, counters } = await limited(100);
    for (const at of [0, 59_999, 60_000]) await checkRate({ accountId: 3 }, at);
    await checkRate({ accountId: 4 }, 0);
    expect([...counters.values()]).toEqual([2, 1]);
  });

  it('is that of the installation for an account without one, and none by default', async () => {
    const withDefault = await limited(null, { defaultLimit: 5 });
    for (const caller of [{ accountId: 3 }, { accountId: 3, messageLimit: null }])
      expect(limitsIn((await withDefault.checkRate(caller, 0)).headers ?? {})[0]).toBe('5');
    for (const { checkRate, counters } of [
      await limited(null),
      await limited(0, { defaultLimit: 5 }),
    ]) {
      expect(await checkRate({ accountId: 3 }, 0)).toEqual({});
      expect(counters.size).toBe(0);
    }
  });

  it('lets requests pass while it cannot be counted', async () => {
    const { checkRate } = await limited(1, { isDown: true });
    const { post } = host({ checkRate, messageLimit: 1 });
    for (let time = 0; time < 3; time++) {
      const { status, headers } = await post();
      expect([status, ...limitsIn(headers)]).toEqual([200, undefined, undefined]);
    }
  });
});
