import { isJsonObject } from '../../events/json.ts';
import { MIN_WINDOW_MS } from '../../events/time.ts';
import { decideImport, type DecidedEvents } from '../../events/validate.ts';
import { ingestOutcomeCodec, rawRecordCodec } from '../../schemas/codec.ts';
import { answer, refuse, type Answer } from '../errors/domain-error.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Services } from '../services.ts';
import { itemSlices } from './item-slices.ts';
import { importOutcome, planRecords, type AcceptedItem, type ImportFacts } from './plan.ts';
import { TOPIC } from '../../schemas/topology.ts';

const MAX_EVENTS = 500;

/**
 * POST /v1/events (management 4.2): 202 when the log has every accepted event. Nothing is
 * de-duplicated; timestamps are clamped to 30 days, silently. The answer: `{accepted, rejected?,
 * errors?: [{index, reason}]}`.
 */
export async function importEvents(request: ApiRequest, services: Services): Promise<Answer> {
  const { body } = request;
  if (!isJsonObject(body)) return refuse('malformed_json');
  const events = body['events'] ?? [];
  if (!Array.isArray(events)) return refuse('malformed_json');
  if (events.length === 0) return refuse('batch_empty');
  if (events.length > MAX_EVENTS)
    return refuse('batch_too_large', { details: { limit: MAX_EVENTS, sent: events.length } });
  const quota = await services.imports.checkQuota(request.caller.accountId, request.now);
  if (quota !== undefined) return refuse(quota);
  const decided = decideImport({
    items: events as unknown[],
    now: request.now,
    windowMs: MIN_WINDOW_MS,
  });
  if (decided.outcome === 'malformed') return refuse('malformed_json');
  try {
    await publish({ request, services, decided });
  } catch (error) {
    services.log.warn(
      {
        err: error,
        code: 'import_unpublished',
        account_id: request.caller.accountId,
        trace: request.trace,
      },
      'events could not be published',
    );
    return refuse('ingest_unavailable');
  }
  const errors = decided.rejected.map(({ index, reason }) => ({ index, reason }));
  if (decided.accepted.length === 0) return refuse('all_events_rejected', { details: errors });
  return answer(
    {
      accepted: decided.accepted.length,
      ...(errors.length === 0 ? {} : { rejected: errors.length, errors }),
    },
    { status: 202 },
  );
}

interface Publishing {
  request: ApiRequest;
  services: Services;
  decided: DecidedEvents;
}

/**
 * The events, and what the request counts as: rejects and warnings are in the log before the answer
 * goes out.
 */
async function publish({ request, services, decided }: Publishing): Promise<void> {
  const { publisher, acceptance, makeId } = services.imports;
  const facts: ImportFacts = {
    accountId: request.caller.accountId,
    receivedAt: request.now,
    trace: request.trace,
    path: '/v1/events',
    gateway: acceptance.gateway,
    sequence: acceptance.take(Math.max(1, decided.accepted.length)),
    partitions: await publisher.partitions(),
  };
  const slices = itemSlices(request.rawBody, 'events');
  const items = decided.accepted.map((event): AcceptedItem => {
    const bytes = slices[event.index] ?? Buffer.alloc(0);
    return {
      event,
      bytes,
      messageId: event.generated ? makeId() : event.message_id,
      dedupeId: makeId(),
    };
  });
  const { received, accepted, rejected, counts } = decided;
  const outcome = importOutcome(facts, {
    received,
    accepted: accepted.length,
    rejected: rejected.length,
    counts,
  });
  await publisher.publish([
    ...planRecords(items, facts).map(({ partition, key, record }) => ({
      topic: TOPIC.raw,
      partition,
      key,
      value: rawRecordCodec.encode(record),
    })),
    {
      topic: TOPIC.outcomes,
      partition: facts.accountId % facts.partitions,
      key: null,
      value: ingestOutcomeCodec.encode(outcome),
    },
  ]);
}
