import { compileCount } from '../../audiences/compile.ts';
import type { Merges } from '../../audiences/people-sql.ts';
import { readAudience } from '../../audiences/read.ts';
import { compileFunnel } from '../../account-api/reports/funnel/compile.ts';
import { parseFunnel } from '../../account-api/reports/funnel/request.ts';
import { funnelOfFew } from '../../account-api/reports/funnel/few/funnel-of-few.ts';
import type { FewEvents } from '../../account-api/reports/few-events/few-events.ts';
import { compilePaths } from '../../account-api/reports/paths/compile.ts';
import { parsePaths } from '../../account-api/reports/paths/request.ts';
import { compilePeople } from '../../account-api/reports/people/compile.ts';
import { peopleOfFew } from '../../account-api/reports/people/people-of-few.ts';
import type { Parsed } from '../../account-api/reports/report-problem.ts';
import { compileRetention } from '../../account-api/reports/retention/compile.ts';
import { parseRetention } from '../../account-api/reports/retention/request.ts';
import { compileTrends } from '../../account-api/reports/trends/compile.ts';
import { parseTrends } from '../../account-api/reports/trends/request.ts';
import { dayText, tehranDay } from '../../events/tehran-time.ts';
import { SqlParams, type CompiledQuery } from '../../platform/clickhouse/sql.ts';
import { ACCOUNT } from './fill.ts';

export interface SmallQuestion {
  name: string;
  compile: (merges: Merges) => CompiledQuery;
  few?: FewEvents | undefined;
}

const accountId = ACCOUNT;

/** Reports of every kind over the month before `until`, unix seconds. */
export function smallQuestions({ until }: { until: number }): SmallQuestion[] {
  const end = tehranDay(until * 1000);
  const range = { from: dayText(end - 30), to: dayText(end) };
  const steps = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ event: `step_${at + 1}` }));
  const bySource = { breakdown: { field: 'utm_source' } };
  const isAudio = [{ property: 'category', op: 'eq', value: 'audio' }];
  const isPro = [{ trait: 'plan', op: 'eq', value: 'pro' }];
  const exclude = [{ event: 'step_20' }];
  const repeating = [...steps(10), { event: 'step_1' }, { event: 'step_2' }];

  const funnel = (name: string, body: object): SmallQuestion => {
    const request = valid(parseFunnel({ ...range, ...body }));
    return {
      name: `funnel, ${name}`,
      compile: (merges) => compileFunnel({ request, accountId, merges }),
      few: funnelOfFew(request, accountId),
    };
  };
  const retention = (name: string, body: object): SmallQuestion => ({
    name: `retention, ${name}`,
    compile: (merges) =>
      compileRetention({
        ...{ accountId, merges },
        request: valid(
          parseRetention({
            ...{ ...range, start: { event: 'step_1' }, return: { event: 'step_2' } },
            ...body,
          }),
        ),
      }),
  });
  const trends = (name: string, body: object): SmallQuestion => ({
    name: `trends, ${name}`,
    compile: (merges) =>
      compileTrends({ request: valid(parseTrends({ ...range, ...body })), accountId, merges }),
  });
  const paths = (name: string, body: object): SmallQuestion => ({
    name: `paths, ${name}`,
    compile: (merges) =>
      compilePaths({
        request: valid(parsePaths({ ...range, start: { event: 'step_1' }, ...body })),
        ...{ accountId, merges },
      }),
  });
  const audience = (name: string, definition: object): SmallQuestion => ({
    name: `audience, ${name}`,
    compile(merges) {
      const read = readAudience(definition);
      if (!read.ok) throw new Error(read.message);
      const params = new SqlParams();
      const context = { accountId, now: until * 1000, today: end, merges, params };
      return { sql: compileCount(read.audience.root, context), params: params.values() };
    },
  });
  const did = (event: string, more: object = {}) => ({
    ...{ event, did: true, within_days: 30 },
    ...more,
  });
  const ofFunnel = {
    ...{ kind: 'funnel' as const, step: 2, isLost: false },
    request: valid(parseFunnel({ ...range, steps: steps(4) })),
  };
  return [
    funnel('2 steps', { steps: steps(2) }),
    funnel('4 steps', { steps: steps(4) }),
    funnel('4 steps, filtered', {
      steps: steps(4).map((step) => ({ ...step, filters: isAudio })),
    }),
    funnel('4 steps, of a trait', { steps: steps(4), filters: isPro }),
    funnel('4 steps, breakdown', { steps: steps(4), ...bySource }),
    funnel('4 steps, breakdown by a trait', { steps: steps(4), breakdown: { trait: 'plan' } }),
    funnel('4 steps, exclusion', { steps: steps(4), exclude }),
    funnel('4 steps, exclusion, breakdown', { steps: steps(4), exclude, ...bySource }),
    funnel('4 steps, one repeats', { steps: [...steps(3), { event: 'step_1' }] }),
    funnel('4 steps of one event', {
      steps: Array.from({ length: 4 }, () => ({ event: 'step_1' })),
    }),
    funnel('12 steps', { steps: steps(12) }),
    funnel('12 steps, breakdown', { steps: steps(12), ...bySource }),
    funnel('12 steps, exclusion', { steps: steps(12), exclude }),
    funnel('12 steps, exclusion, breakdown', { steps: steps(12), exclude, ...bySource }),
    funnel('12 steps, two repeat', { steps: repeating }),
    funnel('12 steps, two repeat, exclusion, breakdown', {
      ...{ steps: repeating, exclude, ...bySource },
    }),
    funnel('4 steps, strict', { steps: steps(4), order: 'strict' }),
    funnel('12 steps, strict, breakdown', { steps: steps(12), order: 'strict', ...bySource }),
    funnel('4 steps, any order', { steps: steps(4), order: 'any' }),
    funnel('12 steps, any order', { steps: steps(12), order: 'any' }),
    funnel('12 steps, any order, breakdown', { steps: steps(12), order: 'any', ...bySource }),
    retention('first time by day', { period: 'day', periods: 30 }),
    retention('recurring by week', { period: 'week', periods: 5, mode: 'recurring' }),
    retention('first time by week, breakdown', { period: 'week', periods: 5, ...bySource }),
    trends('1 series by day', { series: steps(1) }),
    trends('6 series by day, people', {
      series: steps(6).map((one) => ({ ...one, measure: 'people' })),
    }),
    trends('4 series by day, breakdown', { series: steps(4), ...bySource }),
    paths('depth 4', { depth: 4 }),
    paths('depth 5', { depth: 5 }),
    {
      name: 'people of a funnel, 4 steps',
      compile: (merges) => compilePeople({ asked: ofFunnel, accountId, merges }),
      few: peopleOfFew(ofFunnel, accountId),
    },
    {
      name: 'people of a trend',
      compile: (merges) =>
        compilePeople({
          asked: {
            ...{ kind: 'trends', series: 0, period: undefined },
            request: valid(parseTrends({ ...range, series: steps(1) })),
          },
          ...{ accountId, merges },
        }),
    },
    audience('one trait', { all: [{ trait: 'plan', op: 'eq', value: 'pro' }] }),
    audience('three events', {
      all: [
        did('step_1'),
        did('step_2', { times: { op: 'gte', value: 2 } }),
        did('step_3', { did: false }),
      ],
    }),
    audience('ten events', { all: steps(10).map(({ event }) => did(event)) }),
  ];
}

function valid<Request>(parsed: Parsed<Request>): Request {
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.request;
}
