import { answer, reject, type Answer } from '../errors/domain-error.ts';
import { answerOrUnavailable } from '../http/answer-or-unavailable.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Services } from '../services.ts';
import { EXPIRES_AFTER_HOURS, MAX_OPEN } from './export-store.ts';
import { readExport } from './request.ts';

const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 100;
const TOO_MANY_OPEN = `this account has ${MAX_OPEN} exports that are queued or running; wait until one has ended`;

/** GET /v1/exports (management 2.6, 4.2): newest first; the first answer is the whole list. */
export function listExports(request: ApiRequest, services: Services): Promise<Answer> {
  return stored({ request, services }, async (accountId) => {
    const data = await services.exports.list(accountId, readLimit(request.query.get('limit')));
    return answer({ data, has_more: false });
  });
}

/** POST /v1/exports (management 4.2): 202 with the queued job. */
export function createExport(request: ApiRequest, services: Services): Promise<Answer> {
  return stored({ request, services }, async (accountId) => {
    const read = readExport(request.body);
    if (!read.ok) return { ok: false, error: read.error };
    const { segmentId } = read.spec;
    if (segmentId !== undefined && !(await services.segments.find(accountId, segmentId)))
      return reject('export_spec_invalid', {
        message: 'spec.segment_id must be the id of a segment',
      });
    const { actor } = request.caller;
    const job = await services.exports.create(accountId, { draft: read.draft, actor });
    if (!job) return reject('budget_exhausted', { message: TOO_MANY_OPEN });
    return answer({ ...job, expires_after_hours: EXPIRES_AFTER_HOURS }, { status: 202 });
  });
}

function readLimit(text: string | null): number {
  const limit = /^\d+$/.test(text ?? '') ? Number(text) : 0;
  return limit === 0 ? DEFAULT_LIMIT : Math.min(limit, MAX_LIMIT);
}

interface Context {
  request: ApiRequest;
  services: Services;
}

function stored(context: Context, work: (accountId: number) => Promise<Answer>): Promise<Answer> {
  const failure = { error: 'export_unavailable', code: 'export_store' } as const;
  return answerOrUnavailable({ ...context, ...failure, message: 'the export store failed', work });
}
