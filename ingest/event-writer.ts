import { NO_CLAIMS, type ClaimWords } from '../events/claims/claim-words.ts';
import type { ClaimVerdict } from '../events/claims/verdict.ts';
import type { ClaimingRequest } from '../platform/claims/local-claims.ts';
import type { DecidedEvents } from '../events/validate.ts';
import type { Delivery, OutcomeCount, SdkBalance } from '../schemas/records.ts';
import { claimIds, claimPositions, freshEvents, type FreshEvents } from './fresh-events.ts';
import type { LogRecord } from './log-record.ts';
import { outcomeRecord, type EventCounts } from './outcome-record.ts';
import { rawRecords, type EventBytes, type RawRecordOf, type StoredEvent } from './raw-records.ts';
import type { Allocate } from '../schemas/raw-record-encoder.ts';
import { TOPIC } from '../schemas/topology.ts';
import { currentSpan } from '../platform/tracing/request-span.ts';
import type { Span } from '../platform/tracing/spans.ts';
import type { RequestFacts } from './request.ts';
import { tracePublish } from './trace-publish.ts';

/** Claims of one request; see platform/claims/local-claims.ts. */
interface Claimed {
  readonly verdicts: readonly ClaimVerdict[];
}

export interface WriterPorts<C extends Claimed> {
  /** Undefined where nothing is deduplicated. */
  claims?: {
    claim(ids: ClaimWords, request: ClaimingRequest): C | Promise<C>;
    confirm(claimed: C, positions?: readonly number[]): void;
    release(claimed: C, positions?: readonly number[]): Promise<void>;
  };
  /**
   * Memory for the values of raw records. They belong to `publish`, which may use it again once a
   * record is durable: nothing here reads a value after that.
   */
  allocate?: Allocate;
  /** Resolves with the records that are not durable. */
  publish(records: readonly LogRecord[]): Promise<readonly LogRecord[]>;
  /** Partitions of a topic. */
  partitionsOf(topic: string): number | Promise<number>;
  /** Random id of this writer: its records contain it with their sequence numbers. */
  gateway: string;
  /** Whether the balance of an SDK is recorded now; without it none is. */
  admitsBalance?: (accountId: number, client: string, receivedAt: number) => boolean;
  onCounted?(counts: EventCounts): void;
}

/** Records on their way, and what follows from their end. */
interface Publishing extends Pick<FreshEvents, 'claims'> {
  refusing: Promise<readonly LogRecord[]>;
  raw: readonly RawRecordOf[];
  counts: EventCounts;
  span: Span | undefined;
}

const NONE_REFUSED: Promise<readonly LogRecord[]> = Promise.resolve([]);

/** Partitions of the two topics. */
interface Partitions {
  raw: number;
  outcomes: number;
}

/** The decided events of a request, ready to be claimed and published. */
export interface EventsToWrite {
  request: RequestFacts;
  decided: Pick<DecidedEvents, 'received' | 'rejected' | 'counts' | 'balance'>;
  /** The accepted events under the ids they are stored with, in the order of the request. */
  events: readonly StoredEvent[];
  bytes: EventBytes;
  /** What a platform delivered; the first record contains it. */
  delivery?: Delivery | null;
}

/**
 * Makes the events of all entrances durable: claims their message ids, then publishes raw records
 * and, for a request with rejects, warnings, duplicates or a balance, its outcome record, all at
 * once (ARCHITECTURE.md, G1, G2 and G6).
 *
 * A request that is not durable as a whole is answered 503, and what is durable of it counts:
 * events as published, whose resend is a duplicate, and the outcome as what was received and
 * rejected. The books balance either way, because received is the sum of both. Two publishes in
 * turn would not change that: they only make the time longer in which an event without a message id
 * is durable and its request is not.
 */
export class EventWriter<C extends Claimed = Claimed> {
  readonly #ports: WriterPorts<C>;
  #sequence = 0;
  #outcomes = 0;

  constructor(ports: WriterPorts<C>) {
    this.#ports = ports;
  }

  /**
   * Resolves with the number of duplicates, or undefined when something is not durable: the client
   * is answered 503 and sends it again. Throws or rejects only when a port does.
   *
   * Promises are chained without async functions. What one keeps takes 368 bytes instead of 183 and
   * lives as long as the request, and the collector was a seventh of the work for single events.
   */
  write(input: EventsToWrite): Promise<number | undefined> {
    const { claims } = this.#ports;
    const { request, events } = input;
    const ids = claims ? claimIds(request.principal.accountId, events) : NO_CLAIMS;
    const claiming = ids.count > 0 ? claims?.claim(ids, claimingRequest(request)) : undefined;
    return claiming instanceof Promise
      ? claiming.then((claimed) => this.#writeClaimed(input, claimed))
      : this.#writeClaimed(input, claiming);
  }

  /** Reads the partitions after the claims: the layout can change while they are awaited. */
  #writeClaimed(input: EventsToWrite, claimed: C | undefined): Promise<number | undefined> {
    const known = this.#partitions();
    return known instanceof Promise
      ? known.then((partitions) => this.#writeSplit(input, claimed, partitions))
      : this.#writeSplit(input, claimed, known);
  }

  #writeSplit(
    input: EventsToWrite,
    claimed: C | undefined,
    partitions: Partitions,
  ): Promise<number | undefined> {
    const { events } = input;
    const fresh: FreshEvents = claimed
      ? freshEvents(events, claimed.verdicts)
      : { events, duplicates: 0, claims: undefined };
    return this.#completed(this.#publish(input, fresh, partitions), claimed);
  }

  /** Publishes in one turn: sequence numbers rise in the order of the log. */
  #publish(input: EventsToWrite, fresh: FreshEvents, partitions: Partitions): Publishing {
    const { request, decided } = input;
    const { duplicates } = fresh;
    const counts: EventCounts = {
      received: decided.received,
      accepted: fresh.events.length,
      duplicate: duplicates,
      rejected: decided.rejected.length,
    };
    const raw = fresh.events.length === 0 ? [] : this.#rawRecords(input, fresh, partitions.raw);
    const records = raw.map(({ record }) => record);
    const balance = this.#balance(request, decided.balance);
    if (decided.counts.length > 0 || duplicates > 0 || balance) {
      const outcome = { ...counts, counts: decided.counts, balance };
      records.push(this.#outcome(request, outcome, partitions));
    }
    const tracedRequest = request.span ?? currentSpan();
    const span = tracedRequest && tracePublish(tracedRequest, raw);
    const refusing = records.length === 0 ? NONE_REFUSED : this.#ports.publish(records);
    return { refusing, raw, claims: fresh.claims, counts, span };
  }

  /**
   * Most requests in progress wait here, so this refers neither to their bodies nor to their
   * events: what is kept that long survives the young generation, and the collector copies it
   * twice.
   */
  #completed(publishing: Publishing, claimed: C | undefined): Promise<number | undefined> {
    return publishing.refusing.then((refused) => this.#complete(publishing, claimed, refused));
  }

  /** Confirms or releases the claims: the records are durable or refused. */
  #complete(
    publishing: Publishing,
    claimed: C | undefined,
    refused: readonly LogRecord[],
  ): number | undefined {
    const { claims } = this.#ports;
    const { raw, counts, span } = publishing;
    span?.end({}, refused.length === 0 ? undefined : 'some records are not durable');
    if (refused.length === 0) {
      if (claimed && raw.length > 0)
        claims?.confirm(claimed, claimPositions(publishing, undefined));
      this.#ports.onCounted?.(counts);
      return counts.duplicate;
    }
    for (const { record, positions } of raw) {
      const own = claimPositions(publishing, positions);
      if (!claimed) continue;
      if (refused.includes(record)) void claims?.release(claimed, own);
      else claims?.confirm(claimed, own);
    }
    return undefined;
  }

  /** Records a request that is refused with all its events. False when that is not durable. */
  async writeRefusal(
    request: RequestFacts,
    refused: { events: number; count: Omit<OutcomeCount, 'kind' | 'count'> },
  ): Promise<boolean> {
    const { events } = refused;
    const counts: EventCounts = { received: events, accepted: 0, duplicate: 0, rejected: events };
    this.#ports.onCounted?.(counts);
    // A batch without items rejects no event; it counts as one reject, or it would be invisible.
    const reject: OutcomeCount = { kind: 'reject', ...refused.count, count: Math.max(1, events) };
    const known = this.#partitions();
    const partitions = known instanceof Promise ? await known : known;
    const record = this.#outcome(
      request,
      { ...counts, counts: [reject], balance: null },
      partitions,
    );
    return (await this.#ports.publish([record])).length === 0;
  }

  #rawRecords(input: EventsToWrite, fresh: FreshEvents, partitions: number): RawRecordOf[] {
    const records = rawRecords({
      request: input.request,
      events: fresh.events,
      bytes: input.bytes,
      delivery: input.delivery ?? null,
      partitions,
      gateway: this.#ports.gateway,
      sequence: this.#sequence,
      allocate: this.#ports.allocate,
    });
    this.#sequence += fresh.events.length;
    return records;
  }

  #balance({ principal, receivedAt }: RequestFacts, sent: SdkBalance | undefined) {
    const { admitsBalance } = this.#ports;
    if (!sent || !admitsBalance?.(principal.accountId, sent.client, receivedAt)) return null;
    return sent;
  }

  #outcome(
    request: RequestFacts,
    outcome: EventCounts & { counts: OutcomeCount[]; balance: SdkBalance | null },
    partitions: Partitions,
  ): LogRecord {
    return outcomeRecord(request, outcome, {
      gateway: this.#ports.gateway,
      partitions: partitions.outcomes,
      sequence: this.#outcomes++,
    });
  }

  #partitions(): Partitions | Promise<Partitions> {
    const ports = this.#ports;
    const raw = ports.partitionsOf(TOPIC.raw);
    const outcomes = ports.partitionsOf(TOPIC.outcomes);
    if (typeof raw === 'number' && typeof outcomes === 'number') return { raw, outcomes };
    return Promise.all([raw, outcomes]).then(([first, second]) => ({
      raw: first,
      outcomes: second,
    }));
  }
}

/**
 * SDKs may get fewer: `duplicates` is optional (ingest 2.6). A platform's delivery that
 * repeats an event is not counted in its connection (ingest 4.6).
 */
function claimingRequest({ principal, receivedAt, source }: RequestFacts): ClaimingRequest {
  return { account: principal.accountId, receivedAt, isExact: source !== 'sdk' };
}
