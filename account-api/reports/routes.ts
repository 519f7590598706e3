import Type, { type TSchema } from 'typebox';
import type { Filter } from '../../audiences/conditions/condition.ts';
import { answer, reject, type Answer } from '../errors/domain-error.ts';
import { AccountBusy } from '../limits/account-slots.ts';
import { rejectBusy } from '../http/answer-or-unavailable.ts';
import { exceedsMemory } from '../../platform/clickhouse/query-limits.ts';
import { BODY, TIMEOUT } from '../http/limits.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Route } from '../http/route.ts';
import type { Services } from '../services.ts';
import { FunnelBody, parseFunnel } from './funnel/request.ts';
import { reportProblem, type Parsed } from './report-problem.ts';
import { parseRetention, RetentionBody } from './retention/request.ts';
import type { ReportQuery } from './run.ts';
import type { Breakdown } from './selectors.ts';

const NullableNumber = Type.Union([Type.Number(), Type.Null()]);
export const Meta = Type.Object(
  {
    fresh_until: Type.String({ format: 'date-time' }),
    incomplete: Type.Boolean(),
    rows_read: Type.Integer(),
    elapsed_ms: Type.Number(),
  },
  { $id: 'ReportMeta' },
);
/** The fields of a breakdown entry besides its steps or cohorts. */
const LISTED_VALUE = {
  value: Type.Union([Type.String(), Type.Null()]),
  other: Type.Optional(Type.Boolean()),
};
const FunnelSteps = Type.Array(
  Type.Object({
    event: Type.String(),
    count: Type.Integer(),
    conversion_from_previous: NullableNumber,
    conversion_from_first: NullableNumber,
    median_seconds_from_previous: NullableNumber,
    p90_seconds_from_previous: NullableNumber,
  }),
  { $id: 'FunnelSteps' },
);
const RetentionCohorts = Type.Array(
  Type.Object({
    start: Type.String(),
    size: Type.Integer(),
    returned: Type.Array(Type.Integer()),
    incomplete_from: Type.Optional(Type.Integer()),
  }),
  { $id: 'RetentionCohorts' },
);

/** What the routes of all reports have in common. */
export const reportRoute = {
  method: 'POST',
  auth: 'key',
  permission: 'analytics.read',
  cost: 25,
  lock: true,
  features: ['analytics'],
  bodyLimit: BODY.query,
  malformed: { code: 'invalid_report', message: reportProblem('body').message },
  flat: ['invalid_report', 'report_unavailable', 'report_too_large'],
  coded: [],
  timeout: TIMEOUT.report,
} as const;

/** The results of all people, and of each value of a breakdown. */
export function answerSchema(results: Record<string, TSchema>, $id: string) {
  const values = Type.Array(Type.Object({ ...LISTED_VALUE, ...results }));
  return Type.Object({ ...results, breakdown: Type.Optional(values), meta: Meta }, { $id });
}

export const reportRoutes: readonly Route[] = [
  {
    ...reportRoute,
    path: '/v1/reports/funnel',
    summary: 'How many people get through a series of steps',
    schemas: {
      request: FunnelBody,
      response: answerSchema({ steps: FunnelSteps }, 'FunnelAnswer'),
      status: 200,
    },
    handler: (request: ApiRequest, services: Services) =>
      answerReport({
        request,
        services,
        parsed: parseFunnel(request.body),
        selectors: ({ steps, exclude }) => [...steps, ...exclude],
        run: (query) => services.reports.funnel(query),
      }),
  },
  {
    ...reportRoute,
    path: '/v1/reports/retention',
    summary: 'How many people come back, period by period',
    schemas: {
      request: RetentionBody,
      response: answerSchema({ cohorts: RetentionCohorts }, 'RetentionAnswer'),
      status: 200,
    },
    handler: (request: ApiRequest, services: Services) =>
      answerReport({
        request,
        services,
        parsed: parseRetention(request.body),
        selectors: (retention) => [retention.start, retention.return],
        run: (query) => services.reports.retention(query),
      }),
  },
];

/** Every filter of a report, and its breakdown. */
interface ReportConditions {
  filters: readonly Filter[];
  breakdown: Breakdown | undefined;
  /** Steps, exclusions, start and return. */
  selectors: readonly { filters: readonly Filter[] }[];
}

/** Whether a condition or the breakdown reads a trait: the report then depends on profiles. */
export function readsTraits({ filters, breakdown, selectors }: ReportConditions): boolean {
  return [
    ...[...filters, ...selectors.flatMap((selector) => selector.filters)].map(
      ({ target }) => target,
    ),
    ...(breakdown ? [breakdown.target] : []),
  ].some(({ kind }) => kind === 'trait');
}

interface Report<Request> {
  request: ApiRequest;
  services: Services;
  parsed: Parsed<Request>;
  selectors: (request: Request) => ReportConditions['selectors'];
  run: (query: ReportQuery<Request>) => Promise<unknown>;
}

/**
 * Reads the freshness before the query, so that the query sees everything that fresh_until
 * promises. A failure on our side is a 503 (ARCHITECTURE.md, G4).
 */
export async function answerReport<Request extends Omit<ReportConditions, 'selectors'>>({
  request,
  services,
  parsed,
  selectors,
  run,
}: Report<Request>): Promise<Answer> {
  if (!parsed.ok) return reject('invalid_report', { message: parsed.problem.message });
  const { accountId } = request.caller;
  try {
    const traits = readsTraits({ ...parsed.request, selectors: selectors(parsed.request) });
    const freshUntil = await services.freshness.freshUntil([
      'events',
      'identities',
      ...(traits ? ['profiles' as const] : []),
    ]);
    return answer(
      await run({
        ...{ accountId, request: parsed.request, freshUntil },
        readsTraits: traits,
        signal: request.signal,
      }),
    );
  } catch (error) {
    if (error instanceof AccountBusy) return rejectBusy();
    if (request.signal.aborted)
      services.log.info({ account_id: accountId, trace: request.trace }, 'report query aborted');
    else
      services.log.warn(
        { err: error, code: 'report_failed', account_id: accountId, trace: request.trace },
        'report query failed',
      );
    return reject(exceedsMemory(error) ? 'report_too_large' : 'report_unavailable');
  }
}
