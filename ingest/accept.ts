import { claimId, claimScope, type ClaimId } from '../events/claims/claim-id.ts';
import type { ClaimVerdict } from '../events/claims/verdict.ts';
import { sdkOf } from '../events/context.ts';
import { isJsonObject, type JsonObject } from '../events/json.ts';
import { ingestWindow } from '../events/time.ts';
import type { AcceptedEvent } from '../events/validate-event.ts';
import { decideBatch, decideSingle, type DecidedEvents } from '../events/validate.ts';
import type { OutcomeCount } from '../schemas/records.ts';
import type { AccountFacts } from '../ingest-gateway/auth/accounts.ts';
import type { Failure } from '../ingest-gateway/failures.ts';
import type { LogRecord } from '../ingest-gateway/spool/spooled-record.ts';
import type { IngestSummary } from './acceptance.ts';
import { claimPositions, freshEvents, needsClaim } from './fresh-events.ts';
import { outcomeRecord, OUTCOME_TOPIC, type OutcomeFacts } from './outcome-record.ts';
import { RAW_TOPIC, rawRecords } from './raw-records.ts';
import type { Submission } from './submission.ts';

/** Claims of one request; see platform/claims/claim-batcher.ts. */
interface Claimed {
  readonly ids: readonly ClaimId[];
  readonly verdicts: readonly ClaimVerdict[];
}

/** What acceptance needs from outside. */
export interface AcceptPorts<C extends Claimed> {
  claims: {
    claim(ids: readonly ClaimId[], at: number): Promise<C>;
    confirm(claimed: C, positions?: readonly number[]): void;
    release(claimed: C, positions?: readonly number[]): Promise<void>;
  };
  /** Resolves with the records that are not durable. */
  publish(records: readonly LogRecord[]): Promise<readonly LogRecord[]>;
  /** Partitions of a topic. */
  partitionsOf(topic: string): number;
  account(id: number): AccountFacts | Promise<AccountFacts>;
  newMessageId(): string;
  /** Random id of this process. */
  gateway: string;
  onCounted?(facts: Omit<OutcomeFacts, 'counts'>): void;
}

export type IngestResult =
  { outcome: 'taken'; acceptance: IngestSummary } | { outcome: 'failed'; failure: Failure };

const UNAVAILABLE: IngestResult = { outcome: 'failed', failure: { code: 'unavailable' } };
const MALFORMED: IngestResult = { outcome: 'failed', failure: { code: 'malformed_json' } };
const NO_ERRORS: IngestSummary['errors'] = [];

/**
 * The use case of the ingest host: validate, claim, publish, and say what became of each event once
 * all that was accepted is durable (ingest 4.3, 4.4; DESIGN.md, "The way of an event"). Raw records
 * go first and the outcome record follows, so that a request cut off in between counts as what it
 * published.
 */
export class IngestService<C extends Claimed = Claimed> {
  readonly #ports: AcceptPorts<C>;
  #sequence = 0;
  #outcomes = 0;

  constructor(ports: AcceptPorts<C>) {
    this.#ports = ports;
  }

  /** Never rejects for anything that a client can send. */
  async accept(submission: Submission): Promise<IngestResult> {
    const body = parse(submission.body);
    if (!isJsonObject(body)) return MALFORMED;
    const known = this.#ports.account(submission.principal.accountId);
    const account = known instanceof Promise ? await known : known;
    if (account.quota !== 'open') {
      const count = { code: account.quota, field: '', sdk: sdkOf(body['context']) };
      return this.#refuse(
        submission,
        { code: account.quota },
        { events: sentEvents(submission, body), count },
      );
    }
    const receipt = { now: submission.receivedAt, windowMs: ingestWindow(account.retentionDays) };
    const decided =
      submission.shape === 'single'
        ? decideSingle({ body, type: submission.type, ...receipt })
        : decideBatch({ body, ...receipt });
    if (decided.outcome === 'malformed') return MALFORMED;
    if (decided.outcome === 'refused') {
      const count = { code: decided.code, field: decided.field, sdk: sdkOf(body['context']) };
      return this.#refuse(
        submission,
        { code: 'rejected', message: decided.reason },
        { events: sentEvents(submission, body), count },
      );
    }
    const duplicates = await this.#makeDurable(submission, decided.accepted);
    if (duplicates === undefined) return UNAVAILABLE;
    const { accepted, rejected, counts, received } = decided;
    const facts = {
      received,
      accepted: accepted.length - duplicates,
      duplicate: duplicates,
      rejected: rejected.length,
    };
    this.#ports.onCounted?.(facts);
    const isClean = counts.length === 0 && duplicates === 0;
    return isClean || (await this.#record(submission, { ...facts, counts }))
      ? concluded(submission, decided, duplicates)
      : UNAVAILABLE;
  }

  /**
   * Claims and publishes; answers how many were held already, or undefined when something could not
   * be made durable.
   */
  async #makeDurable(
    submission: Submission,
    accepted: readonly AcceptedEvent[],
  ): Promise<number | undefined> {
    if (accepted.length === 0) return 0;
    const { claims } = this.#ports;
    const claimed = await claims.claim(this.#claimIds(submission, accepted), submission.receivedAt);
    const fresh = freshEvents(accepted, claimed.verdicts);
    if (fresh.events.length === 0) return fresh.duplicates;
    const records = rawRecords({
      submission,
      events: fresh.events,
      partitions: this.#ports.partitionsOf(RAW_TOPIC),
      gateway: this.#ports.gateway,
      sequence: this.#sequence,
    });
    this.#sequence += fresh.events.length;
    const refused = await this.#ports.publish(records.map(({ record }) => record));
    if (refused.length === 0) {
      claims.confirm(claimed, claimPositions(fresh, undefined));
      return fresh.duplicates;
    }
    for (const { record, positions } of records) {
      const own = claimPositions(fresh, positions);
      if (refused.includes(record)) void claims.release(claimed, own);
      else claims.confirm(claimed, own);
    }
    return undefined;
  }

  /** Ids of the claims, of the events that need one; the others get their message id. */
  #claimIds(submission: Submission, accepted: readonly AcceptedEvent[]): ClaimId[] {
    const scope = claimScope(submission.principal.accountId, 'message');
    const ids: ClaimId[] = [];
    for (const event of accepted) {
      if (needsClaim(event)) ids.push(claimId(scope, event.message_id));
      else event.message_id = this.#ports.newMessageId();
    }
    return ids;
  }

  /** A request that is refused as a whole, all its events with it. */
  async #refuse(
    submission: Submission,
    failure: Failure,
    refused: { events: number; count: Omit<OutcomeCount, 'kind' | 'count'> },
  ): Promise<IngestResult> {
    const { events } = refused;
    const facts = { received: events, accepted: 0, duplicate: 0, rejected: events };
    this.#ports.onCounted?.(facts);
    // A batch without items is a reject of no event; it is counted as one, or nobody would ever see
    // it.
    const counts: OutcomeCount[] = [
      { kind: 'reject', ...refused.count, count: Math.max(1, events) },
    ];
    return (await this.#record(submission, { ...facts, counts }))
      ? { outcome: 'failed', failure }
      : UNAVAILABLE;
  }

  /** True once the outcome is durable. */
  async #record(submission: Submission, facts: OutcomeFacts): Promise<boolean> {
    const ports = this.#ports;
    const made = {
      gateway: ports.gateway,
      sequence: this.#outcomes++,
      partitions: ports.partitionsOf(OUTCOME_TOPIC),
    };
    return (await ports.publish([outcomeRecord(submission, facts, made)])).length === 0;
  }
}

function concluded(
  submission: Submission,
  { accepted, rejected, warnings }: DecidedEvents,
  duplicates: number,
): IngestResult {
  const [first] = rejected;
  if (submission.shape === 'single' && first)
    return { outcome: 'failed', failure: { code: 'rejected', message: first.reason } };
  const errors = first ? rejected.map(({ index, reason }) => ({ index, reason })) : NO_ERRORS;
  return {
    outcome: 'taken',
    acceptance: {
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

/** How many events a body carries that is refused before they are looked at. */
function sentEvents({ shape }: Submission, body: JsonObject): number {
  const { batch } = body;
  if (shape === 'single') return 1;
  return Array.isArray(batch) ? batch.length : 0;
}
