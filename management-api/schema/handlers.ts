import { ATTRIBUTES, BANDS, METRICS } from '../audiences/attributes.ts';
import { answer, reject, type Answer } from '../errors/domain-error.ts';
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

async function known(
  { request, services }: { request: ApiRequest; services: Services },
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    services.log.warn(
      {
        err: error,
        code: 'schema_failed',
        account_id: request.caller.accountId,
        trace: request.trace,
      },
      'a catalogue could not be read',
    );
    return reject('schema_unavailable');
  }
}
