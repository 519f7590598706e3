import { ATTRIBUTES, BANDS, METRICS } from '../../audiences/attributes.ts';
import { answer, type Answer } from '../errors/domain-error.ts';
import { answerOrUnavailable } from '../http/answer-or-unavailable.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Services } from '../services.ts';

const builtin = Object.entries(ATTRIBUTES).map(([name, attribute]) => ({ name, ...attribute }));
const metrics = Object.entries(METRICS).map(([name, metric]) => ({ name, ...metric }));

/** GET /v1/schema/events (management 2.4). */
export function getSchemaEvents(request: ApiRequest, services: Services): Promise<Answer> {
  return known({ request, services }, async () =>
    answer({ events: await services.schema.events(questionOf(request)) }),
  );
}

/** GET /v1/schema/traits (management 2.4): what an audience may ask about people. */
export function getSchemaTraits(request: ApiRequest, services: Services): Promise<Answer> {
  return known({ request, services }, async () => {
    const schema = await services.schema.traits(questionOf(request));
    return answer({
      traits: schema.map(({ name }) => name),
      schema,
      builtin,
      engagement: { metrics, bands: BANDS },
    });
  });
}

function questionOf({ caller, now, signal }: ApiRequest) {
  return { accountId: caller.accountId, now, signal };
}

function known(
  context: { request: ApiRequest; services: Services },
  work: () => Promise<Answer>,
): Promise<Answer> {
  const failure = { error: 'schema_unavailable', code: 'schema_failed' } as const;
  return answerOrUnavailable({
    ...context,
    ...failure,
    message: 'a catalogue could not be read',
    work,
  });
}
