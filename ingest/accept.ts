import { ingestWindow } from '../events/time.ts';
import type { AcceptedEvent } from '../events/validate-event.ts';
import type { DecidedEvents } from '../events/validate.ts';
import type { AccountFacts } from './account.ts';
import type { BodyDecider } from './body-decider.ts';
import { ClientBody } from './client-body.ts';
import type { DecidedBody, RefusedBody } from './decide-body.ts';
import type { EventWriter } from './event-writer.ts';
import type { SdkRequest } from './request.ts';
import type { IngestResult, IngestSummary } from './result.ts';

export interface IngestPorts {
  writer: Pick<EventWriter, 'write' | 'writeRefusal'>;
  decider: Pick<BodyDecider, 'decide'>;
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

  /**
   * Resolves once every accepted event is durable. Throws or rejects only when a port does,
   * whatever a client sends. Not an async function, for the reason that EventWriter.write gives.
   */
  accept(request: SdkRequest): Promise<IngestResult> {
    const known = this.#ports.account(request.principal.accountId);
    return known instanceof Promise
      ? known.then((facts) => this.#decide(request, facts))
      : this.#decide(request, known);
  }

  #decide(request: SdkRequest, { quota, retentionDays }: AccountFacts): Promise<IngestResult> {
    const { body, shape, type, receivedAt } = request;
    const windowMs = ingestWindow(retentionDays);
    const deciding = this.#ports.decider.decide(
      { body, shape, type, receivedAt, windowMs, quota },
      request.principal.accountId,
    );
    return deciding instanceof Promise
      ? deciding.then((decided) => this.#write(request, decided))
      : this.#write(request, deciding);
  }

  #write(request: SdkRequest, decided: DecidedBody | undefined): Promise<IngestResult> {
    if (decided === undefined) return Promise.resolve(UNAVAILABLE);
    const { decision } = decided;
    if (decision.outcome === 'malformed') return Promise.resolve(MALFORMED);
    if (decision.outcome === 'refused') return this.#refuse(request, decision);
    const events = this.#withMessageIds(decision.accepted);
    const bytes = new ClientBody(decided.body ?? request.body, 'batch', decided.parts);
    const writing = this.#ports.writer.write({ request, decided: decision, events, bytes });
    return written(writing, resultOf(request, decision));
  }

  async #refuse(request: SdkRequest, refused: RefusedBody): Promise<IngestResult> {
    const isDurable = await this.#ports.writer.writeRefusal(request, refused);
    return isDurable ? { outcome: 'failed', failure: refused.failure } : UNAVAILABLE;
  }

  /** Gives the events that were sent without a message id one, in place. */
  #withMessageIds(events: AcceptedEvent[]): AcceptedEvent[] {
    for (const event of events) if (event.generated) event.message_id = this.#ports.newMessageId();
    return events;
  }
}

/** The result without the duplicates, which are known once the events are written. */
function resultOf(
  request: SdkRequest,
  { accepted, rejected, warnings }: DecidedEvents,
): IngestResult {
  const [first] = rejected;
  if (request.shape === 'single' && first)
    return { outcome: 'failed', failure: { code: 'rejected', message: first.reason } };
  const errors = first ? rejected.map(({ index, reason }) => ({ index, reason })) : NO_ERRORS;
  return {
    outcome: 'accepted',
    summary: {
      accepted: accepted.length,
      duplicates: 0,
      rejected: rejected.length,
      warnings,
      errors,
    },
  };
}

/** Apart from `#write`, so that what waits here refers neither to the body nor to its events. */
function written(
  writing: Promise<number | undefined>,
  result: IngestResult,
): Promise<IngestResult> {
  return writing.then((duplicates) => {
    if (duplicates === undefined) return UNAVAILABLE;
    if (result.outcome === 'accepted') result.summary.duplicates = duplicates;
    return result;
  });
}
