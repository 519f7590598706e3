import Type from 'typebox';
import { MAX_BATCH_ITEMS } from '../../events/rejections.ts';
import { MIN_WINDOW_MS } from '../../events/time.ts';
import type { DecidedEvents } from '../../events/validate.ts';
import { ClientBody } from '../../ingest/client-body.ts';
import type { DecidedBody, RefusedBody } from '../../ingest/decide-body.ts';
import type { StoredEvent } from '../../ingest/raw-records.ts';
import { answer, reject, type Answer } from '../../account-api/errors/domain-error.ts';
import type { ApiRequest } from '../../account-api/http/request.ts';
import type { Services } from '../services.ts';

/** The body of POST /v1/events; each event is decided separately. */
export const EventImportBody = Type.Object(
  {
    events: Type.Array(
      Type.Unsafe<unknown>({
        type: 'object',
        description: 'An event as the ingest host accepts it in a batch, with its type',
      }),
      { minItems: 1, maxItems: MAX_BATCH_ITEMS },
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
  const { rawBody, caller, now } = request;
  const { accountId } = caller;
  const quota = (await services.imports.checkQuota(accountId, now)) ?? 'open';
  const decided = await services.imports.decider.decide(
    {
      ...{ body: rawBody, shape: 'import', type: 'track' },
      ...{ receivedAt: now, windowMs: MIN_WINDOW_MS, quota },
    },
    accountId,
  );
  if (decided === undefined) return reject('ingest_unavailable');
  const { decision } = decided;
  if (decision.outcome === 'malformed') return reject('malformed_json');
  if (decision.outcome === 'refused') return rejectImport(decision);
  try {
    await write({ request, services, decided: { ...decided, decision } });
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
  const errors = decision.rejected.map(({ index, reason }) => ({ index, reason }));
  if (decision.accepted.length === 0) return reject('all_events_rejected', { details: errors });
  return answer(
    {
      accepted: decision.accepted.length,
      ...(errors.length === 0 ? {} : { rejected: errors.length, errors }),
    },
    { status: 202 },
  );
}

function rejectImport({ count: { code }, events }: RefusedBody): Answer {
  switch (code) {
    case 'batch_empty':
    case 'quota_cancelled':
    case 'quota_trial_over':
    case 'quota_event_cap':
      return reject(code);
    default:
      return reject('batch_too_large', { details: { limit: MAX_BATCH_ITEMS, sent: events } });
  }
}

interface Import {
  request: ApiRequest;
  services: Services;
  decided: DecidedBody & { decision: DecidedEvents };
}

/** Rejects when Kafka has not acknowledged something: it may be in the log or not. */
async function write({ request, services, decided }: Import): Promise<void> {
  const { writer, makeId } = services.imports;
  // No import is a duplicate of another: each event has a dedupe id of its own.
  const { decision, body, parts } = decided;
  const events = decision.accepted.map((event): StoredEvent => ({
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
    ...{ decided: decision, events },
    bytes: new ClientBody(body ?? request.rawBody, 'events', parts),
  });
  if (duplicates === undefined) throw new Error('Kafka refused imported events');
}
