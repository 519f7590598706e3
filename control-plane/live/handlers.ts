import { answer, type Answer } from '../errors.ts';
import { orUnavailable } from '../routes/or-unavailable.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { compileLive, type LiveRow } from './live-query.ts';
import { eventJson } from './render.ts';

/** How far back the newest events may be, ms. */
const BACK = 3_600_000;
const LIMIT = 200;
const MAX_TEXT = 512;

/**
 * GET /v1/live: the newest events of the last hour as they are stored, newest first; `event`,
 * `person` and `message` keep those of a name, a person or a message id. The panel asks every
 * second.
 */
export async function getLive(request: MemberRequest, services: Services): Promise<Answer> {
  const { caller, query, now, signal } = request;
  const text = (name: string) => (query.get(name) ?? '').slice(0, MAX_TEXT);
  return await orUnavailable({ request, services, code: 'live_failed' }, async () => {
    const accountId = caller.account.id;
    const rows = await services.readFew<LiveRow>(
      compileLive({
        ...{ accountId, since: now - BACK, limit: LIMIT },
        ...{ event: text('event'), person: text('person'), message: text('message') },
      }),
      { accountId, signal },
    );
    return answer({ events: rows.map(eventJson) });
  });
}
