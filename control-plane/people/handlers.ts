import { isTestMessage } from '../../events/messages/message-id.ts';
import { numericPathId } from '../../platform/http/path-id.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import type { LiveRow } from '../live/live-query.ts';
import { eventJson } from '../live/render.ts';
import { orUnavailable } from '../routes/or-unavailable.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import {
  compileMessages,
  compileProfile,
  compileTimeline,
  TIMELINE,
  type MessageRow,
  type ProfileRow,
} from './person-queries.ts';

/** Bytes of a distinct id (ingest 2.1). */
const MAX_ID = 256;

/** GET /v1/people/{id}: who a distinct id is: names, profile, addresses, newest messages. */
export async function getPerson(request: MemberRequest, services: Services): Promise<Answer> {
  const { caller, signal } = request;
  const id = personId(request);
  if (id === undefined) return refuse('bad_id');
  const accountId = caller.account.id;
  const { canonical, names, isCut } = await services.people.namesOf(accountId, id);
  const all = names.map(({ name }) => name);
  const addresses = await services.people.addressesOf(accountId, all);
  return await orUnavailable({ request, services, code: 'person_failed' }, async () => {
    const turn = { accountId, signal };
    const [profiles, messages] = await Promise.all([
      services.readFew<ProfileRow>(compileProfile({ accountId, canonical }), turn),
      services.readMany<MessageRow>(compileMessages({ accountId, names: all }), turn),
    ]);
    const [profile] = profiles;
    if (!profile && addresses.length === 0 && names.length < 2) return refuse('not_found');
    return answer({
      ...{ person: canonical, names, names_cut: isCut, addresses },
      profile: profile ? profileJson(profile) : null,
      messages: messages.map(({ finished, ...message }) => ({
        ...message,
        is_test: isTestMessage(message.message_id),
        finished_at: new Date(finished).toISOString(),
      })),
    });
  });
}

/** GET /v1/people/{id}/events: the person's events, newest first; `before`: ms since the epoch. */
export async function getTimeline(request: MemberRequest, services: Services): Promise<Answer> {
  const { caller, signal, query, now } = request;
  const id = personId(request);
  const before = query.has('before') ? numericPathId(query.get('before') ?? '') : now + 3_600_000;
  if (id === undefined || before === undefined) return refuse('bad_id');
  const accountId = caller.account.id;
  const { names } = await services.people.namesOf(accountId, id);
  return await orUnavailable({ request, services, code: 'timeline_failed' }, async () => {
    const question = { accountId, names: names.map(({ name }) => name), before };
    const rows = await services.readMany<LiveRow>(compileTimeline(question), {
      ...{ accountId, signal },
    });
    return answer({
      events: rows.map(eventJson),
      next_before: rows.length === TIMELINE ? (rows.at(-1)?.occurred ?? null) : null,
    });
  });
}

function personId({ params }: MemberRequest): string | undefined {
  const id = params['id'] ?? '';
  return id === '' || Buffer.byteLength(id) > MAX_ID ? undefined : id;
}

function profileJson({ first, last, columns, ...profile }: ProfileRow) {
  return {
    first_seen: new Date(first).toISOString(),
    last_seen: new Date(last).toISOString(),
    columns: Object.fromEntries(columns),
    ...profile,
  };
}
