import { isEventField } from '../../audiences/conditions/event-fields.ts';
import type { Target } from '../../audiences/conditions/condition.ts';
import { readKey } from '../../audiences/conditions/read-test.ts';
import { grants } from '../../platform/permissions.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { orUnavailable } from '../routes/or-unavailable.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { isContactTrait } from '../people/contact-traits.ts';
import { compileValues } from './values-query.ts';

/**
 * GET /v1/schema/values: the most frequent values of a `property`, `field` or `trait`, for fields
 * that complete; `event`: of these events only. Contact traits need profile.read.
 */
export async function listValues(request: MemberRequest, services: Services): Promise<Answer> {
  const { caller, query, signal } = request;
  const target = readTarget(query);
  if (!target) return refuse('invalid_request', { message: 'name one property, field or trait' });
  const isHidden = target.kind === 'trait' && isContactTrait(target.name);
  if (isHidden && !grants[caller.account.role].includes('profile.read'))
    return answer({ values: [] });
  const event = query.get('event') ?? undefined;
  const accountId = caller.account.id;
  return await orUnavailable({ request, services, code: 'values_failed' }, async () =>
    answer({
      values: await services.readMany(compileValues({ accountId, target, event }), {
        ...{ accountId, signal },
      }),
    }),
  );
}

function readTarget(query: URLSearchParams): Target | undefined {
  const field = query.get('field');
  if (field !== null) return isEventField(field) ? { kind: 'field', name: field } : undefined;
  const kind = query.has('trait') ? 'trait' : 'property';
  const read = readKey(query.get(kind) ?? '');
  return read.ok ? { kind, name: read.key } : undefined;
}
