import { expect, it } from 'vitest';
import { KEPT_EVENTS } from '../../platform/clickhouse/kept-events.ts';
import { compileCount } from '../../audiences/compile.ts';
import { compilePeople } from '../campaigns/stats/compile-people.ts';
import { compileExport } from '../exports/compile.ts';
import { compileFunnel } from './funnel/compile.ts';
import { parseFunnel } from './funnel/request.ts';
import { compileRetention } from './retention/compile.ts';
import { parseRetention } from './retention/request.ts';
import { SqlParams } from '../../platform/clickhouse/sql.ts';

const RANGE = { from: '2026-01-01', to: '2026-02-01' };
const ACCOUNT = { accountId: 7, merges: 'table' } as const;
const CONTEXT = { ...ACCOUNT, now: 0, today: 0 };

function funnel(order: string): string {
  const parsed = parseFunnel({ ...RANGE, order, steps: [{ event: 'a' }, { event: 'b' }] });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return compileFunnel({ ...ACCOUNT, request: parsed.request }).sql;
}

function retention(mode: string): string {
  const body = { ...RANGE, mode, granularity: 'day', periods: 7 };
  const parsed = parseRetention({ ...body, start: { event: 'a' }, return: { event: 'b' } });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return compileRetention({ ...ACCOUNT, request: parsed.request }).sql;
}

const RUN = {
  id: 1,
  planned: 1,
  campaignId: 1,
  frozenAt: 1,
  finishedAt: undefined,
  hasControl: true,
};
const STATS = { ...ACCOUNT, campaignId: 1, now: 1, part: { at: 0, of: 2 } };

const EVENT = { event: 'a', times: { op: 'gte', number: 1, text: '1' }, where: [] } as const;

it.each<[string, () => string]>([
  ...['ordered', 'strict', 'any'].map((order): [string, () => string] => [
    `a funnel of order ${order}`,
    () => funnel(order),
  ]),
  ...['first_time', 'recurring'].map((mode): [string, () => string] => [
    `a retention report of mode ${mode}`,
    () => retention(mode),
  ]),
  [
    'an audience',
    () =>
      compileCount({ kind: 'event', did: true, withinDays: undefined, ...EVENT } as never, {
        ...CONTEXT,
        params: new SqlParams(),
      }),
  ],
  [
    'the stats of a campaign',
    () => {
      const runs = [{ ...RUN, goal: { event: 'a', windowMs: 3_600_000 } }];
      return compilePeople({ ...STATS, runs }).sql;
    },
  ],
  [
    'an export of events',
    () =>
      compileExport(
        { kind: 'events', format: 'csv', spec: {} },
        { ...CONTEXT, params: new SqlParams() },
      ),
  ],
])('%s leaves out events that are older than 400 days wherever it reads events', (_, compile) => {
  const reads = compile().match(/\bFROM events\b/g) ?? [];
  const filtered = compile().split(KEPT_EVENTS).length - 1;
  expect(reads.length).toBeGreaterThan(0);
  expect(filtered).toBe(reads.length);
});
