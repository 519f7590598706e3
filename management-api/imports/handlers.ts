import Type, { type Static } from 'typebox';
import { MIN_WINDOW_MS } from '../../events/time.ts';
import { decideImport, type DecidedEvents } from '../../events/validate.ts';
import { ClientBody } from '../../ingest/client-body.ts';
import type { StoredEvent } from '../../ingest/raw-records.ts';
import { answer, reject, type Answer } from '../errors/domain-error.ts';
import { findViolation, type Violation } from '../http/check-body.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Services } from '../services.ts';

const MAX_EVENTS = 500;

/** The body of POST /v1/events; each event is decided separately. */
export const EventImportBody = Type.Object(
  {
    events: Type.Array(
      Type.Unsafe<unknown>({
        type: 'object',
        description: 'An event as the ingest host accepts it in a batch, with its type',
      }),
      { minItems: 1, maxItems: MAX_EVENTS },
    ),
  },
  { $id: 'EventImport' },
);

/**
 * POST /v1/events (management 4.2): 202 when the log has every accepted event. Nothing is
 * deduplicated; timestamps are clamped to 30 days without a warning. The answer: `{accepted,
 * rejected?, errors?: [{index, reason}]}`.
 */
export async function importEvents(request: ApiRequest, services: Services): Promise<Answer> {
  const { body, caller, now } = request;
  const violation = findViolation(EventImportBody, body, { stopAt: ['events[]'] });
  if (violation) return rejectBody(violation);
  const { events: items } = body as Static<typeof EventImportBody>;
  const quota = await services.imports.checkQuota(caller.accountId, now);
  if (quota !== undefined) return reject(quota);
  const decided = decideImport({ items, now, windowMs: MIN_WINDOW_MS });
  if (decided.outcome === 'malformed') return reject('malformed_json');
  try {
    await write({ request, services, decided });
  } catch (error) {
    services.log.warn(
      {
        err: error,
        code: 'import_unpublished',
        account_id: caller.accountId,
        trace: request.trace,
      },
      'imported events could not be published; the import is answered 503',
    );
    return reject('ingest_unavailable');
  }
  const errors = decided.rejected.map(({ index, reason }) => ({ index, reason }));
  if (decided.accepted.length === 0) return reject('all_events_rejected', { details: errors });
  return answer(
    {
      accepted: decided.accepted.length,
      ...(errors.length === 0 ? {} : { rejected: errors.length, errors }),
    },
    { status: 202 },
  );
}

function rejectBody({ keyword, value }: Violation): Answer {
  switch (keyword) {
    case 'type':
      return reject('malformed_json');
    case 'required':
    case 'minItems':
      return reject('batch_empty');
    case 'maxItems': {
      const sent = Array.isArray(value) ? value.length : 0;
      return reject('batch_too_large', { details: { limit: MAX_EVENTS, sent } });
    }
  }
}

interface Import {
  request: ApiRequest;
  services: Services;
  decided: DecidedEvents;
}

/** Rejects when Kafka has not acknowledged something: it may be in the log or not. */
async function write({ request, services, decided }: Import): Promise<void> {
  const { writer, makeId } = services.imports;
  // No import is a duplicate of another: each event has a dedupe id of its own.
  const events = decided.accepted.map((event): StoredEvent => ({
    ...event,
    message_id: event.generated ? makeId() : event.message_id,
    dedupe_id: makeId(),
  }));
  const duplicates = await writer.write({
    request: {
      ...{ source: 'import', path: '/v1/events', shape: 'batch' },
      ...{ receivedAt: request.now, trace: request.trace },
      // A management key belongs to no app.
      principal: { accountId: request.caller.accountId, appId: 0, writeKeyId: 0 },
      // The caller is a backend: its address and User-Agent say nothing about the person.
      ...{ ip: '', userAgent: '', origin: '' },
    },
    ...{ decided, events },
    bytes: new ClientBody(request.rawBody, 'events'),
  });
  if (duplicates === undefined) throw new Error('Kafka refused imported events');
}
