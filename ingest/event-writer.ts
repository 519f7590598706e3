import type { ClaimId } from '../events/claims/claim-id.ts';
import type { ClaimVerdict } from '../events/claims/verdict.ts';
import type { DecidedEvents } from '../events/validate.ts';
import type { Delivery, OutcomeCount } from '../schemas/records.ts';
import { claimIds, claimPositions, freshEvents, type FreshEvents } from './fresh-events.ts';
import type { LogRecord } from './log-record.ts';
import { outcomeRecord, type EventCounts } from './outcome-record.ts';
import { rawRecords, type EventBytes, type StoredEvent } from './raw-records.ts';
import { TOPIC } from '../schemas/topology.ts';
import type { RequestFacts } from './request.ts';

/** Claims of one request; see platform/claims/claim-batcher.ts. */
interface Claimed {
  readonly ids: readonly ClaimId[];
  readonly verdicts: readonly ClaimVerdict[];
}

export interface WriterPorts<C extends Claimed> {
  /** Undefined where nothing is deduplicated. */
  claims?: {
    claim(ids: readonly ClaimId[], at: number): Promise<C>;
    confirm(claimed: C, positions?: readonly number[]): void;
    release(claimed: C, positions?: readonly number[]): Promise<void>;
  };
  /** Resolves with the records that are not durable. */
  publish(records: readonly LogRecord[]): Promise<readonly LogRecord[]>;
  /** Partitions of a topic. */
  partitionsOf(topic: string): number | Promise<number>;
  /** Random id of this writer: its records contain it with their sequence numbers. */
  gateway: string;
  onCounted?(counts: EventCounts): void;
}

/** The decided events of a request, ready to be claimed and published. */
export interface EventsToWrite {
  request: RequestFacts;
  decided: Pick<DecidedEvents, 'received' | 'rejected' | 'counts'>;
  /** The accepted events under the ids they are stored with, in the order of the request. */
  events: readonly StoredEvent[];
  bytes: EventBytes;
  /** What a platform delivered; the first record contains it. */
  delivery?: Delivery | null;
}

/**
 * Makes the events of all entrances durable: claims their message ids, publishes raw records and
 * then, for a request with rejects, warnings or duplicates, its outcome record (ARCHITECTURE.md,
 * G1, G2 and G6). A request that is cut off in between counts as what it published.
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
   * is answered 503 and sends it again. Rejects only when a port does.
   */
  async write(input: EventsToWrite): Promise<number | undefined> {
    const { request, decided, events } = input;
    const duplicates = events.length === 0 ? 0 : await this.#publishFresh(input);
    if (duplicates === undefined) return undefined;
    const counts: EventCounts = {
      received: decided.received,
      accepted: events.length - duplicates,
      duplicate: duplicates,
      rejected: decided.rejected.length,
    };
    this.#ports.onCounted?.(counts);
    const isClean = decided.counts.length === 0 && duplicates === 0;
    if (isClean || (await this.#record(request, { ...counts, counts: decided.counts })))
      return duplicates;
    return undefined;
  }

  /** Records a request that is refused with all its events. False when that is not durable. */
  writeRefusal(
    request: RequestFacts,
    refused: { events: number; count: Omit<OutcomeCount, 'kind' | 'count'> },
  ): Promise<boolean> {
    const { events } = refused;
    const counts: EventCounts = { received: events, accepted: 0, duplicate: 0, rejected: events };
    this.#ports.onCounted?.(counts);
    // A batch without items rejects no event; it counts as one reject, or it would be invisible.
    const reject: OutcomeCount = { kind: 'reject', ...refused.count, count: Math.max(1, events) };
    return this.#record(request, { ...counts, counts: [reject] });
  }

  async #publishFresh(input: EventsToWrite): Promise<number | undefined> {
    const ports = this.#ports;
    const { claims } = ports;
    const { request, events } = input;
    const { accountId } = request.principal;
    const claimed = claims
      ? await claims.claim(claimIds(accountId, events), request.receivedAt)
      : undefined;
    const fresh: FreshEvents = claimed
      ? freshEvents(events, claimed.verdicts)
      : { events, duplicates: 0, claims: undefined };
    if (fresh.events.length === 0) return fresh.duplicates;
    const partitions = ports.partitionsOf(TOPIC.raw);
    const records = rawRecords({
      request,
      events: fresh.events,
      bytes: input.bytes,
      delivery: input.delivery ?? null,
      partitions: typeof partitions === 'number' ? partitions : await partitions,
      gateway: ports.gateway,
      sequence: this.#sequence,
    });
    this.#sequence += fresh.events.length;
    const refused = await ports.publish(records.map(({ record }) => record));
    if (refused.length === 0) {
      if (claimed) claims?.confirm(claimed, claimPositions(fresh, undefined));
      return fresh.duplicates;
    }
    for (const { record, positions } of records) {
      const own = claimPositions(fresh, positions);
      if (!claimed) continue;
      if (refused.includes(record)) void claims?.release(claimed, own);
      else claims?.confirm(claimed, own);
    }
    return undefined;
  }

  /** True once the outcome is durable. */
  async #record(
    request: RequestFacts,
    outcome: EventCounts & { counts: OutcomeCount[] },
  ): Promise<boolean> {
    const ports = this.#ports;
    const partitions = ports.partitionsOf(TOPIC.outcomes);
    const record = outcomeRecord(request, outcome, {
      gateway: ports.gateway,
      partitions: typeof partitions === 'number' ? partitions : await partitions,
      sequence: this.#outcomes++,
    });
    return (await ports.publish([record])).length === 0;
  }
}
