import { createClient } from '@clickhouse/client';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readyStack } from '../../support/stack.ts';
import { call, coded, makeAccount, makeKey } from './host.ts';
import { misfits, unnamed } from '../schema-check.ts';

type Schema = Record<string, unknown>;
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/openapi/management.json'), 'utf8'),
) as Schema;
const TEHRAN = { attribute: 'city', op: 'eq', value: 'تهران' };

let account: string;
let key: string;
beforeAll(async () => {
  account = await makeAccount();
  ({ key } = await makeKey(account, 'admin'));
});

/** Calls, and holds the answer against the OpenAPI document. */
async function ask(method: string, path: string, body?: unknown, options: { key?: string } = {}) {
  const reply = await call(method, path, { key: options.key ?? key, body });
  const route = path.split('?')[0]?.replace(/\/segments\/[^/]+$/, '/segments/{id}') ?? '';
  const operation = (
    document['paths'] as Record<
      string,
      Record<
        string,
        { responses: Record<string, { content?: Record<string, { schema: Schema }> }> }
      >
    >
  )[route]?.[method.toLowerCase()];
  const response = operation?.responses[reply.status];
  expect(response, `${method} ${path} answered ${reply.status}`).toBeDefined();
  const schema = response?.content?.['application/json']?.schema;
  if (!schema) expect(reply.text).toBe('');
  else {
    expect(misfits(document, schema, reply.body)).toEqual([]);
    if (!('oneOf' in schema)) expect(unnamed(document, schema, reply.body)).toEqual([]);
  }
  return [reply.status, reply.body] as const;
}

async function hasPeople(): Promise<boolean> {
  const { clickhouse_url, clickhouse_database } = readyStack();
  const client = createClient({ url: clickhouse_url, database: clickhouse_database });
  try {
    const result = await client.query({ query: 'EXISTS TABLE people', format: 'JSONEachRow' });
    return ((await result.json<{ result: number }>())[0]?.result ?? 0) === 1;
  } finally {
    await client.close();
  }
}

describe('an audience', () => {
  it('is validated: an invalid definition is answered with its fault and its place', async () => {
    expect(
      await ask('POST', '/v1/audiences/validate', {
        all: [TEHRAN, { not: { trait: 'tier', op: 'eq', value: 'gold' } }],
      }),
    ).toEqual([200, { valid: true, conditions: 2, depth: 2 }]);
    const message = "segment: unknown attribute 'cty' at $.all[0].attribute";
    expect(
      await ask('POST', '/v1/audiences/validate', { all: [{ ...TEHRAN, attribute: 'cty' }] }),
    ).toEqual([422, coded('filter_invalid', message)]);
    const deep = Array.from({ length: 9 }).reduce<unknown>((inside) => ({ all: [inside] }), TEHRAN);
    expect(await ask('POST', '/v1/audiences/validate', deep)).toEqual([
      422,
      coded('filter_invalid', 'segment: nesting too deep'),
    ]);
  });

  it('is counted: an invalid definition is answered 400', async () => {
    expect(await ask('POST', '/v1/audiences/count', { any: 7 })).toEqual([
      400,
      { error: 'segment: any takes a list of at least one condition at $.any' },
    ]);
    const [status, body] = await ask('POST', '/v1/audiences/count', TEHRAN);
    // The view comes with the profiles projection.
    if (await hasPeople()) expect([status, (body as { count: number }).count]).toEqual([200, 0]);
    else expect([status, body]).toEqual([503, { error: 'count unavailable' }]);
  });
});

describe('segments', () => {
  it('are created, read, replaced and deleted', async () => {
    const [status, made] = await ask('POST', '/v1/segments', {
      name: 'تهرانی‌ها',
      definition: TEHRAN,
    });
    const { id, created_at } = made as { id: number; created_at: string };
    expect([status, made]).toEqual([
      201,
      { id, name: 'تهرانی‌ها', definition: TEHRAN, created_at, updated_at: created_at },
    ]);
    expect(await ask('GET', `/v1/segments/${id}`)).toEqual([200, made]);
    const [replacedStatus, replaced] = await ask('PUT', `/v1/segments/${id}`, {
      name: 'other',
      definition: { not: TEHRAN },
    });
    expect([replacedStatus, replaced]).toMatchObject([
      200,
      { id, name: 'other', definition: { not: TEHRAN }, created_at },
    ]);
    expect((await ask('GET', '/v1/segments'))[1]).toEqual({ segments: [replaced] });
    expect(await ask('DELETE', `/v1/segments/${id}`)).toEqual([204, undefined]);
    expect(await ask('GET', `/v1/segments/${id}`)).toEqual([404, { error: 'segment not found' }]);
    expect(await ask('GET', '/v1/segments')).toEqual([200, { segments: [] }]);
  });

  it('of another account are answered 404', async () => {
    const { id } = (await ask('POST', '/v1/segments', { name: 'mine', definition: TEHRAN }))[1] as {
      id: number;
    };
    const { key: stranger } = await makeKey(await makeAccount(), 'admin');
    expect(await ask('GET', `/v1/segments/${id}`, undefined, { key: stranger })).toEqual([
      404,
      { error: 'segment not found' },
    ]);
    const put = await ask(
      'PUT',
      `/v1/segments/${id}`,
      { name: 'x', definition: TEHRAN },
      { key: stranger },
    );
    expect(put).toEqual([404, coded('not_found', 'segment not found')]);
    await ask('DELETE', `/v1/segments/${id}`, undefined, { key: stranger });
    expect((await ask('GET', `/v1/segments/${id}`))[0]).toBe(200);
  });

  it('reject invalid ids, names and definitions', async () => {
    for (const name of ['', ' \t', undefined, 7])
      expect(await ask('POST', '/v1/segments', { name, definition: TEHRAN })).toEqual([
        400,
        coded('name_required', 'name is required'),
      ]);
    const message = 'segment: expected an object at $';
    expect(await ask('POST', '/v1/segments', { name: 'x' })).toEqual([
      422,
      coded('filter_invalid', message),
    ]);
    for (const id of ['0', '-1', 'x', '1.5', '99999999999999999999']) {
      expect(await ask('GET', `/v1/segments/${id}`)).toEqual([
        400,
        { error: 'invalid segment id' },
      ]);
      for (const method of ['PUT', 'DELETE'])
        expect(await ask(method, `/v1/segments/${id}`, method === 'PUT' ? {} : undefined)).toEqual([
          400,
          coded('bad_id', 'the id in the path must be a positive integer'),
        ]);
    }
  });
});

describe('POST /v1/events', () => {
  const event = { type: 'track', event: 'imported', user_id: 'u1' };

  it('accepts valid events and lists the rejected ones', async () => {
    expect(await ask('POST', '/v1/events', { events: [event] })).toEqual([202, { accepted: 1 }]);
    expect(await ask('POST', '/v1/events', { events: [event, { ...event, user_id: '' }] })).toEqual(
      [202, { accepted: 1, rejected: 1, errors: [{ index: 1, reason: 'missing_identity' }] }],
    );
  });

  it('rejects an empty batch, too many events and a batch without a valid event', async () => {
    const empty = coded('batch_empty', 'events is absent or empty; send 1 to 500 events');
    for (const body of [{}, { events: [] }, { batch: [event] }])
      expect(await ask('POST', '/v1/events', body)).toEqual([400, empty]);
    const tooMany = coded('batch_too_large', 'too many events in one request; the limit is 500', {
      details: { limit: 500, sent: 501 },
    });
    expect(
      await ask('POST', '/v1/events', { events: Array.from({ length: 501 }, () => event) }),
    ).toEqual([413, tooMany]);
    const details = [{ index: 0, reason: 'missing_event_name' }];
    expect(await ask('POST', '/v1/events', { events: [{ type: 'track', user_id: 'u' }] })).toEqual([
      422,
      coded('all_events_rejected', 'every event was rejected; see details', { details }),
    ]);
    for (const body of [[], { events: 'x' }, { events: [1] }])
      expect(await ask('POST', '/v1/events', body)).toEqual([
        400,
        coded('malformed_json', 'malformed JSON'),
      ]);
  });

  it('answers 402 in Persian when the plan allows no events', async () => {
    for (const [subscription, code, message] of [
      ['cancelled', 'quota_cancelled', 'اشتراک این حساب لغو شده است.'],
      ['trial_ended', 'quota_trial_over', 'دورهٔ آزمایشی این حساب به پایان رسیده است.'],
    ] as const) {
      const { key: refused } = await makeKey(await makeAccount({ subscription }), 'admin');
      expect(await ask('POST', '/v1/events', { events: [event] }, { key: refused })).toEqual([
        402,
        coded(code, message),
      ]);
    }
  });
});

describe('exports', () => {
  it('are queued, written and listed', async () => {
    const { key: own } = await makeKey(await makeAccount(), 'analyst');
    const [status, queued] = await ask(
      'POST',
      '/v1/exports',
      { kind: 'events', format: 'csv' },
      { key: own },
    );
    expect([status, queued]).toMatchObject([
      202,
      { kind: 'events', format: 'csv', status: 'queued', expires_after_hours: 168 },
    ]);
    await expect
      .poll(async () => (await ask('GET', '/v1/exports', undefined, { key: own }))[1], {
        timeout: 30_000,
        interval: 500,
      })
      .toMatchObject({
        data: [{ id: (queued as { id: number }).id, status: 'ready', rows: 0 }],
        has_more: false,
      });
    const { data } = (
      await ask('GET', '/v1/exports?limit=0&cursor=x', undefined, { key: own })
    )[1] as {
      data: { expires_at: string; created_at: string }[];
    };
    const hours =
      (Date.parse(data[0]?.expires_at ?? '') - Date.parse(data[0]?.created_at ?? '')) / 3_600_000;
    expect(hours).toBeGreaterThanOrEqual(168);
    expect(hours).toBeLessThan(169);
  });

  it('reject unknown kinds and specs', async () => {
    const kinds = 'kind must be one of events, messages, profiles, segment';
    expect(await ask('POST', '/v1/exports', { kind: 'people' })).toEqual([
      422,
      coded('export_kind_invalid', kinds),
    ]);
    expect((await ask('POST', '/v1/exports', { kind: 'events', format: 'xml' }))[0]).toBe(422);
    expect(
      (await ask('POST', '/v1/exports', { kind: 'segment', spec: { segment_id: 999_999_999 } }))[0],
    ).toBe(422);
  });
});

describe('the schema, the quality and the reports', () => {
  it('have their documented shapes and defaults without events', async () => {
    const { key: fresh } = await makeKey(await makeAccount(), 'viewer');
    expect(await ask('GET', '/v1/schema/events', undefined, { key: fresh })).toEqual([
      200,
      { events: [] },
    ]);
    const [status, traits] = await ask('GET', '/v1/schema/traits', undefined, { key: fresh });
    if (await hasPeople())
      expect([status, traits]).toMatchObject([200, { traits: [], schema: [] }]);
    else expect([status, traits]).toEqual([503, { error: 'schema unavailable' }]);
    expect(await ask('GET', '/v1/ingest/quality', undefined, { key: fresh })).toMatchObject([
      200,
      { days: 7, totals: { rejected: 0, warned: 0 }, rows: [] },
    ]);
    for (const [days, used] of [
      ['0', 7],
      ['x', 7],
      ['3', 3],
      ['9999', 90],
    ] as const)
      expect(
        (await ask('GET', `/v1/ingest/quality?days=${days}`, undefined, { key: fresh }))[1],
      ).toMatchObject({ days: used });
  });

  it('have zero counts in a funnel without people', async () => {
    const [status, body] = await ask('POST', '/v1/reports/funnel', {
      steps: [{ event: 'a' }, { event: 'b' }],
      from: '2026-01-01',
      to: '2026-02-01',
    });
    expect([status, body]).toMatchObject([
      200,
      {
        steps: [
          { event: 'a', count: 0 },
          { event: 'b', count: 0 },
        ],
        meta: { incomplete: false },
      },
    ]);
  });

  it('have empty cohorts in a retention report without people', async () => {
    const body = {
      start: { event: 'a' },
      return: { event: 'b' },
      from: '2026-01-01',
      to: '2026-01-03',
    };
    const [status, answer] = await ask('POST', '/v1/reports/retention', body);
    expect([status, answer]).toMatchObject([
      200,
      {
        cohorts: [
          { start: '2026-01-01', size: 0 },
          { start: '2026-01-02', size: 0 },
        ],
      },
    ]);
  });

  it('answer an invalid report with a flat error and a code', async () => {
    for (const report of ['funnel', 'retention'])
      expect(await ask('POST', `/v1/reports/${report}`, {})).toMatchObject([
        400,
        { error: expect.stringMatching(/[\u0600-\u06ff]/) as string, code: 'invalid_report' },
      ]);
    const filters = Array.from({ length: 11 }, () => ({ property: 'p', op: 'is_set' }));
    const funnel = {
      steps: [{ event: 'a' }, { event: 'b' }],
      from: '2026-01-01',
      to: '2026-02-01',
      filters,
    };
    expect(await ask('POST', '/v1/reports/funnel', funnel)).toEqual([
      400,
      { error: 'analytics: too many filters', code: 'invalid_report' },
    ]);
  });
});
