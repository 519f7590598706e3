import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { audienceCounter } from '../../../account-api/audiences/count.ts';
import { compileExport } from '../../../account-api/exports/compile.ts';
import { readSpec } from '../../../account-api/exports/request.ts';
import { readAudience } from '../../../audiences/read.ts';
import { parseFunnel } from '../../../account-api/reports/funnel/request.ts';
import { parsePaths } from '../../../account-api/reports/paths/request.ts';
import { parseRetention } from '../../../account-api/reports/retention/request.ts';
import {
  clickhouseReports,
  readReport,
  reportsOver,
  type RunReports,
} from '../../../account-api/reports/run.ts';
import { SqlParams } from '../../../platform/clickhouse/sql.ts';
import { openWarehouse, type Warehouse } from './warehouse.ts';

let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await openWarehouse('largest_requests');
});
afterAll(() => warehouse.close());

/** Bytes of a body of reports and audiences (management 8.3). */
const BODY = 2 ** 20;
const LIST = 1000;
const numbers = (salt: number): number[] =>
  Array.from({ length: LIST }, (_, at) => (at + salt) / 7 + 0.123456789);
const texts = (salt: number, bytes: number): string[] =>
  Array.from({ length: LIST }, (_, at) => `${salt}_${at}_'"\\${'ی'.repeat(bytes)}`.slice(0, bytes));
const property = (at: number, value: unknown) => ({ property: `p${at}`, op: 'in', value });
const each = <T>(count: number, write: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => write(at));

/** All filters that a report may have, in lists as long as the body allows. */
const FILTERS: Record<string, object[]> = {
  'ten lists of 1,000 numbers': each(10, (at) => property(at, numbers(at))),
  'ten lists of 1,000 texts': each(10, (at) => property(at, texts(at, 40))),
  'a list of 1,000 texts of 512 bytes': [property(0, texts(0, 250))],
  'ten traits': each(10, (at) => ({ trait: `t${at}`, op: 'not_in', value: numbers(at) })),
};
const RANGE = { from: '2024-10-01', to: '2026-10-01', timezone: 'Asia/Tehran' };
const long = (name: string, at: number): string => `${name}${at}_`.padEnd(256, 'x');
/** Steps whose conditions overlap in part need the longest statement. */
const overlapping = each(12, (at) => ({
  event: long('e', at % 3),
  ...(at % 4 === 0 ? { filters: [{ property: `o${at}`, op: 'eq', value: at }] } : {}),
}));
const exclude = each(50, (at) => ({ event: long('x', at), from_step: 1 + (at % 11) }));

/** Reports that are computed from few events, and the same as one statement. */
const bothWays = (): RunReports[] => [
  clickhouseReports(warehouse.client),
  reportsOver(({ compiled, signal }) => readReport(warehouse.client, { compiled, signal })),
];

const run = { accountId: 7, freshUntil: 0, merges: 'table' as const };

function bounded(body: object): object {
  expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThanOrEqual(BODY);
  return body;
}

describe('the largest requests that validation admits are answered', () => {
  const funnels: Record<string, object> = {
    ordered: { exclude, breakdown: { property: 'b', step: 12, limit: 100 } },
    strict: { order: 'strict', exclude, breakdown: { trait: 'b', limit: 100 } },
    any: { order: 'any', breakdown: { property: 'b', step: 12, limit: 100 } },
  };
  const rows: [order: string, filters: string][] = [
    ['ordered', 'ten lists of 1,000 numbers'],
    ['ordered', 'a list of 1,000 texts of 512 bytes'],
    ['strict', 'ten lists of 1,000 texts'],
    ['strict', 'ten traits'],
    ['any', 'a list of 1,000 texts of 512 bytes'],
  ];
  for (const [order, name] of rows)
    it(`funnel, ${order}, ${name}`, async () => {
      const filters = FILTERS[name] ?? [];
      const steps = order === 'any' ? each(12, (at) => ({ event: long('e', at) })) : overlapping;
      // the steps of the longest statement have filters of their own
      const left = order === 'any' ? filters : filters.slice(0, 7);
      const parsed = parseFunnel(bounded({ ...RANGE, ...funnels[order], steps, filters: left }));
      if (!parsed.ok) throw new Error(parsed.problem.message);
      for (const reports of bothWays()) {
        const answer = await reports.funnel({ ...run, request: parsed.request });
        expect(answer.steps).toHaveLength(12);
      }
    });

  it('funnel of merged people, the last two of twelve steps repeat the first two', async () => {
    const names = [...each(10, (at) => `e${at}`), 'e0', 'e1'];
    const parsed = parseFunnel({ ...RANGE, steps: names.map((event) => ({ event })) });
    if (!parsed.ok) throw new Error(parsed.problem.message);
    for (const reports of bothWays()) {
      const answer = await reports.funnel({ ...run, request: parsed.request });
      expect(answer.steps).toHaveLength(12);
    }
  });

  for (const [name, filters] of Object.entries(FILTERS))
    it(`retention by day, ${name}`, async () => {
      const parsed = parseRetention(
        bounded({
          ...RANGE,
          start: { event: long('s', 0) },
          return: { event: long('r', 0) },
          ...{ period: 'day', periods: 60, mode: 'recurring', filters },
          breakdown: { trait: 'b', limit: 100 },
        }),
      );
      if (!parsed.ok) throw new Error(parsed.problem.message);
      const reports = clickhouseReports(warehouse.client);
      const answer = await reports.retention({ ...run, request: parsed.request });
      expect(answer.cohorts).toHaveLength(730);
    });

  for (const [name, filters] of Object.entries(FILTERS))
    it(`paths of five events, ${name}`, async () => {
      const start = { event: long('s', 0), filters };
      const parsed = parsePaths(
        bounded({ ...RANGE, start, depth: 5, limit: 10, window_seconds: 2_592_000 }),
      );
      if (!parsed.ok) throw new Error(parsed.problem.message);
      const reports = clickhouseReports(warehouse.client);
      expect(await reports.paths({ ...run, request: parsed.request })).toMatchObject({ people: 0 });
    });

  const birthday = { attribute: 'days_until_birthday', op: 'between' };
  const event = { did: false, times: { op: 'between', value: [0, 3] }, within_days: 30 };
  const definitions: Record<string, object> = {
    '200 birthdays': { any: each(200, (at) => ({ ...birthday, value: [at, at + 0.5] })) },
    '200 metrics': {
      any: each(200, (at) => ({ engagement: 'orders_90d', op: 'between', value: [0, at + 0.5] })),
    },
    '200 events': { any: each(200, (at) => ({ ...event, event: long('e', at) })) },
    '200 lists of 1,000 numbers': {
      any: each(200, (at) => ({
        trait: `t${at}`,
        op: 'not_in',
        value: each(LIST, (index) => (index + at) % 1000),
      })),
    },
    'one event with 199 lists': {
      ...{ event: 'e', times: { op: 'gte', value: 1 } },
      where: each(199, (at) =>
        property(
          at,
          each(LIST, (index) => (index + at) % 1000),
        ),
      ),
    },
  };
  for (const [name, definition] of Object.entries(definitions))
    it(`audience, ${name}`, async () => {
      const outcome = readAudience(bounded(definition));
      if (!outcome.ok) throw new Error(outcome.message);
      const audience = outcome.audience.root;
      const mergesOf = () => Promise.resolve(run.merges);
      const count = audienceCounter({
        mergesOf,
        rowsOf: (statement) => readReport(warehouse.client, statement),
      });
      expect(
        await count({
          accountId: 7,
          audience,
          now: Date.now(),
          signal: AbortSignal.timeout(60_000),
        }),
      ).toBe(0);
    });

  it('export of 1,000 event names', async () => {
    const spec = readSpec('events', { events: each(1000, (at) => long('e', at).slice(0, 128)) });
    if (typeof spec === 'string') throw new Error(spec);
    const params = new SqlParams();
    const query = compileExport(
      { kind: 'events', format: 'csv', spec },
      { ...run, now: 0, today: 0, params },
    );
    const { stream } = await warehouse.client.exec({
      query,
      query_params: params.values(),
      use_multipart_params_auto: true,
    });
    expect(await stream.toArray()).toBeDefined();
  });
});

describe('dates at the ends of the calendar are answered', () => {
  it.each([
    ['0001-01-01', '0001-06-01'],
    ['1969-12-01', '1970-02-01'],
    ['9999-01-01', '9999-12-31'],
  ])('from %s to %s', async (from, to) => {
    const events = { start: { event: 'a' }, return: { event: 'b' } };
    const funnel = parseFunnel({ from, to, steps: [{ event: 'a' }, { event: 'b' }] });
    const retention = parseRetention({ from, to, ...events });
    if (!funnel.ok || !retention.ok) throw new Error('the dates are valid');
    for (const reports of bothWays()) {
      expect((await reports.funnel({ ...run, request: funnel.request })).steps[0]?.count).toBe(0);
      const answer = await reports.retention({ ...run, request: retention.request });
      expect(answer.cohorts.every(({ size }) => size === 0)).toBe(true);
    }
  });
});

describe('a text of a client that no stored value can equal is answered, not a fault', () => {
  const hostile = {
    'a NUL': 'a\0b',
    'a lone surrogate': 'a\ud800b',
    'control characters': 'a\r\n\t\u001bb',
    'quotes and backslashes': `\\'"\`{p0:String}\\`,
    'a byte order mark': '\ufeffa',
  };
  for (const [name, text] of Object.entries(hostile))
    it(name, async () => {
      const filters = [
        { property: text, op: 'eq', value: text },
        { trait: text, op: 'contains', value: text },
        { field: 'user_id', op: 'in', value: [text, 1, -0, 5e-324, 1.7976931348623157e308] },
      ];
      const body = { ...RANGE, filters, breakdown: { property: text } };
      const funnel = parseFunnel({ ...body, steps: [{ event: text }, { event: `${text}2` }] });
      const retention = parseRetention({
        ...body,
        start: { event: text },
        return: { event: text },
      });
      if (!funnel.ok || !retention.ok) throw new Error('the texts are valid');
      for (const reports of bothWays()) {
        await reports.funnel({ ...run, request: funnel.request });
        await reports.retention({ ...run, request: retention.request });
      }
      const outcome = readAudience({
        all: [
          { trait: text, op: 'eq', value: text },
          { attribute: 'email', op: 'in', value: [text] },
          { event: text, where: [{ property: text, op: 'prefix', value: text }] },
        ],
      });
      if (!outcome.ok) throw new Error(outcome.message);
      const mergesOf = () => Promise.resolve(run.merges);
      const count = audienceCounter({
        mergesOf,
        rowsOf: (statement) => readReport(warehouse.client, statement),
      });
      const audience = outcome.audience.root;
      expect(
        await count({
          accountId: 7,
          audience,
          now: Date.now(),
          signal: AbortSignal.timeout(60_000),
        }),
      ).toBe(0);
    });
});
