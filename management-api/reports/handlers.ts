import { answer, reject, type Answer } from '../errors/domain-error.ts';
import type { ApiRequest } from '../http/request.ts';
import { parseFunnel } from './funnel/request.ts';
import { parseRetention } from './retention/request.ts';
import { readsTraits, type Conditions } from './reads-traits.ts';
import type { Parsed } from './report-problem.ts';
import type { Services } from '../services.ts';
import type { ReportRun } from './ports.ts';

/** POST /v1/reports/funnel (management 4.2; reports.md, "Funnel"). */
export function postFunnel(request: ApiRequest, services: Services): Promise<Answer> {
  return answerReport({
    request,
    services,
    parsed: parseFunnel(request.body),
    selectors: ({ steps, exclude }) => [...steps, ...exclude],
    run: (run) => services.reports.funnel(run),
  });
}

/** POST /v1/reports/retention (management 4.2; reports.md, "Retention"). */
export function postRetention(request: ApiRequest, services: Services): Promise<Answer> {
  return answerReport({
    request,
    services,
    parsed: parseRetention(request.body),
    selectors: (report) => [report.start, report.return],
    run: (run) => services.reports.retention(run),
  });
}

interface Report<Request> {
  request: ApiRequest;
  services: Services;
  parsed: Parsed<Request>;
  selectors: (request: Request) => Conditions['selectors'];
  run: (run: ReportRun<Request>) => Promise<unknown>;
}

/**
 * Freshness is read before the query, so that the query sees everything that it promises. What
 * fails on our side is 503.
 */
async function answerReport<Request extends Omit<Conditions, 'selectors'>>({
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
    const merges = await services.mergesOf(accountId, request.signal);
    return answer(
      await run({ accountId, request: parsed.request, freshUntil, merges, signal: request.signal }),
    );
  } catch (error) {
    if (request.signal.aborted)
      services.log.info({ account_id: accountId, trace: request.trace }, 'a report was given up');
    else
      services.log.warn(
        { err: error, code: 'report_failed', account_id: accountId, trace: request.trace },
        'a report could not be computed',
      );
    return reject('report_unavailable');
  }
}
