import { answer, reject, type Answer } from '../errors/domain-error.ts';
import { answerOrUnavailable } from '../http/answer-or-unavailable.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Services } from '../services.ts';
import { readAudience } from '../../audiences/read.ts';

/** POST /v1/audiences/validate (management 4.2): reads and checks; touches no database. */
export function validateAudience(request: ApiRequest): Answer {
  const outcome = readAudience(request.body);
  if (!outcome.ok) return reject('filter_invalid', { message: outcome.message });
  const { conditions, depth } = outcome.audience;
  return answer({ valid: true, conditions, depth });
}

/** POST /v1/audiences/count (management 4.2; reports: Audiences): one query. */
export async function countAudience(request: ApiRequest, services: Services): Promise<Answer> {
  const outcome = readAudience(request.body);
  if (!outcome.ok) return reject('filter_uncompilable', { message: outcome.message });
  const startedAt = performance.now();
  const { now, signal } = request;
  return answerOrUnavailable({
    ...{ request, services, error: 'count_unavailable', code: 'count_failed' },
    message: 'an audience could not be counted',
    async work(accountId) {
      const freshUntil = await services.freshness.freshUntil(['events', 'identities', 'profiles']);
      const audience = outcome.audience.root;
      const count = await services.countAudience({ accountId, audience, now, signal });
      const meta = {
        fresh_until: new Date(freshUntil).toISOString(),
        elapsed_ms: Math.round(performance.now() - startedAt),
      };
      return answer({ count, meta });
    },
  });
}
