import { sdkOf } from '../events/context.ts';
import { isJsonObject, type JsonObject } from '../events/json.ts';
import { ingestWindow } from '../events/time.ts';
import type { AcceptedEvent } from '../events/validate-event.ts';
import { decideBatch, decideSingle, type DecidedEvents } from '../events/validate.ts';
import type { AccountFacts } from './account.ts';
import { ClientBody } from './client-body.ts';
import type { EventWriter } from './event-writer.ts';
import type { SdkRequest } from './request.ts';
import type { IngestResult, IngestSummary } from './result.ts';

export interface IngestPorts {
  writer: Pick<EventWriter, 'write' | 'writeRefusal'>;
  account(id: number): AccountFacts | Promise<AccountFacts>;
  newMessageId(): string;
}

const UNAVAILABLE: IngestResult = { outcome: 'failed', failure: { code: 'unavailable' } };
const MALFORMED: IngestResult = { outcome: 'failed', failure: { code: 'malformed_json' } };
const NO_ERRORS: IngestSummary['errors'] = [];

/** Accepts the events of the SDK routes: checks the quota, validates, writes (ingest 4.3, 4.4). */
export class IngestService {
  readonly #ports: IngestPorts;

  constructor(ports: IngestPorts) {
    this.#ports = ports;
  }

  /** Resolves once every accepted event is durable. Never rejects, whatever a client sends. */
  async accept(request: SdkRequest): Promise<IngestResult> {
    const { writer } = this.#ports;
    const body = parse(request.body);
    if (!isJsonObject(body)) return MALFORMED;
    const known = this.#ports.account(request.principal.accountId);
    const account = known instanceof Promise ? await known : known;
    if (account.quota !== 'open') {
      const count = { code: account.quota, field: '', sdk: sdkOf(body['context']) };
      return (await writer.writeRefusal(request, { events: sentEvents(request, body), count }))
        ? { outcome: 'failed', failure: { code: account.quota } }
        : UNAVAILABLE;
    }
    const receipt = { now: request.receivedAt, windowMs: ingestWindow(account.retentionDays) };
    const decided =
      request.shape === 'single'
        ? decideSingle({ body, type: request.type, ...receipt })
        : decideBatch({ body, ...receipt });
    if (decided.outcome === 'malformed') return MALFORMED;
    if (decided.outcome === 'refused') {
      const count = { code: decided.code, field: decided.field, sdk: sdkOf(body['context']) };
      return (await writer.writeRefusal(request, { events: sentEvents(request, body), count }))
        ? { outcome: 'failed', failure: { code: 'rejected', message: decided.reason } }
        : UNAVAILABLE;
    }
    const events = this.#withMessageIds(decided.accepted);
    const bytes = new ClientBody(request.body, 'batch');
    const duplicates = await writer.write({ request, decided, events, bytes });
    return duplicates === undefined ? UNAVAILABLE : resultOf(request, decided, duplicates);
  }

  /** Gives the events that were sent without a message id one, in place. */
  #withMessageIds(events: AcceptedEvent[]): AcceptedEvent[] {
    for (const event of events) if (event.generated) event.message_id = this.#ports.newMessageId();
    return events;
  }
}

function resultOf(
  request: SdkRequest,
  { accepted, rejected, warnings }: DecidedEvents,
  duplicates: number,
): IngestResult {
  const [first] = rejected;
  if (request.shape === 'single' && first)
    return { outcome: 'failed', failure: { code: 'rejected', message: first.reason } };
  const errors = first ? rejected.map(({ index, reason }) => ({ index, reason })) : NO_ERRORS;
  return {
    outcome: 'accepted',
    summary: {
      accepted: accepted.length,
      duplicates,
      rejected: rejected.length,
      warnings,
      errors,
    },
  };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** Number of events in a refused body. */
function sentEvents({ shape }: SdkRequest, body: JsonObject): number {
  const { batch } = body;
  if (shape === 'single') return 1;
  return Array.isArray(batch) ? batch.length : 0;
}
