import { claimId, claimScope, type ClaimId } from '../../events/claims/claim-id.ts';
import { ingestWindow } from '../../events/time.ts';
import type { AcceptedEvent } from '../../events/validate-event.ts';
import { decideImport, type DecidedEvents } from '../../events/validate.ts';
import type { MappedEvent } from '../../events/webhooks/mapping.ts';
import type { ClaimBatcher } from '../../platform/claims/claim-batcher.ts';
import type { Delivery } from '../../schemas/records.ts';
import type { AcceptPorts } from '../../ingest/accept.ts';
import { claimPositions, freshEvents, needsClaim } from '../../ingest/fresh-events.ts';
import { OUTCOME_TOPIC } from '../../ingest/outcome-record.ts';
import { RAW_TOPIC } from '../../ingest/raw-records.ts';
import { outcomeOf, planRecords, type MappedItem } from './plan.ts';

/** The mapped events of one delivery. */
export interface MappedDelivery {
  accountId: number;
  appId: number;
  path: string;
  receivedAt: number;
  trace: string;
  events: readonly MappedEvent[];
  delivery: Delivery;
}

/**
 * `published`: without duplicates. `reason`: why the first event that was not taken was not;
 * undefined when all were.
 */
export type DeliveryTaken =
  | { outcome: 'taken'; published: number; duplicates: number; reason: string | undefined }
  | { outcome: 'unavailable' };

/** Events that are claimed and published at once: as many as a batch holds (ingest 4.4). */
const MOST_AT_ONCE = 500;
const UNAVAILABLE: DeliveryTaken = { outcome: 'unavailable' };
const TOO_DEEP = 'nests too deeply';

export interface MappedPorts extends Pick<
  AcceptPorts<never>,
  'publish' | 'partitionsOf' | 'account' | 'onCounted'
> {
  claims: Pick<ClaimBatcher, 'claim' | 'confirm' | 'release'>;
  /** Random; for an event without message id. */
  newDedupeId(): string;
  /** Random id that names this acceptor alone: it counts its own acceptances. */
  gateway: string;
}

interface Part {
  decided: DecidedEvents;
  /**
   * The events that `decided` speaks of, by its index: their JSON, and where they stand in the
   * delivery.
   */
  written: readonly { json: string; position: number }[];
}

/**
 * Makes the events of a delivery durable by the rules of the ingest host: validated, claimed,
 * published, counted. No quota is asked (ingest 4.6). What cannot be made durable is answered 503
 * and comes again; events of it that are durable by then are duplicates, or a second time in the
 * log if they have no message id.
 */
export class MappedAcceptor {
  readonly #ports: MappedPorts;
  #sequence = 0;
  #outcomes = 0;

  constructor(ports: MappedPorts) {
    this.#ports = ports;
  }

  /** Never rejects for anything that a platform can send. */
  async accept(mapped: MappedDelivery): Promise<DeliveryTaken> {
    const account = await this.#ports.account(mapped.accountId);
    const receipt = { now: mapped.receivedAt, windowMs: ingestWindow(account.retentionDays) };
    const result = {
      outcome: 'taken' as const,
      published: 0,
      duplicates: 0,
      reason: undefined as string | undefined,
    };
    for (let at = 0; at < mapped.events.length; at += MOST_AT_ONCE) {
      const part = mapped.events.slice(at, at + MOST_AT_ONCE);
      const written = part.flatMap((event, offset) => {
        const json = jsonOf(event);
        return json === undefined ? [] : [{ event, json, position: at + offset }];
      });
      if (written.length < part.length) result.reason ??= TOO_DEEP;
      const decided = decideImport({ items: written.map(({ event }) => event), ...receipt });
      if (decided.outcome === 'malformed') {
        result.reason ??= decided.detail;
        continue;
      }
      const delivery = result.published === 0 ? mapped.delivery : null;
      const duplicates = await this.#makeDurable({ ...mapped, delivery }, { decided, written });
      if (duplicates === undefined || !(await this.#conclude(mapped, decided, duplicates)))
        return UNAVAILABLE;
      result.published += decided.accepted.length - duplicates;
      result.duplicates += duplicates;
      result.reason ??= decided.rejected[0]?.reason;
    }
    return result;
  }

  /** Answers how many were held already, or undefined when something could not be made durable. */
  async #makeDurable(
    mapped: Omit<MappedDelivery, 'delivery'> & { delivery: Delivery | null },
    { decided, written }: Part,
  ): Promise<number | undefined> {
    const ports = this.#ports;
    const { claims } = ports;
    const { accepted } = decided;
    if (accepted.length === 0) return 0;
    const claimed = await claims.claim(claimIds(mapped.accountId, accepted), mapped.receivedAt);
    const fresh = freshEvents(accepted, claimed.verdicts);
    if (fresh.events.length === 0) return fresh.duplicates;
    const items = fresh.events.map((event): MappedItem => {
      const { json, position } = written[event.index] ?? { json: '{}', position: event.index };
      return { event, json, position, dedupeId: needsClaim(event) ? null : ports.newDedupeId() };
    });
    const planned = planRecords(items, {
      ...mapped,
      gateway: ports.gateway,
      sequence: this.#sequence,
      partitions: ports.partitionsOf(RAW_TOPIC),
    });
    this.#sequence += items.length;
    const refused = await ports.publish(planned.map(({ record }) => record));
    for (const { record, positions } of planned) {
      const own = claimPositions(fresh, positions);
      if (refused.includes(record)) void claims.release(claimed, own);
      else claims.confirm(claimed, own);
    }
    return refused.length === 0 ? fresh.duplicates : undefined;
  }

  /** True once what was decided besides publishing is durable. */
  async #conclude(
    mapped: MappedDelivery,
    decided: DecidedEvents,
    duplicates: number,
  ): Promise<boolean> {
    const ports = this.#ports;
    const facts = {
      received: decided.received,
      accepted: decided.accepted.length - duplicates,
      duplicate: duplicates,
      rejected: decided.rejected.length,
    };
    ports.onCounted?.(facts);
    // No id is made here, so there is nothing to warn of.
    const counts = decided.counts.filter(({ code }) => code !== 'generated_message_id');
    if (counts.length === 0 && duplicates === 0) return true;
    const partitions = ports.partitionsOf(OUTCOME_TOPIC);
    const record = outcomeOf(
      { ...mapped, gateway: ports.gateway, sequence: this.#outcomes++, partitions },
      { ...facts, counts },
    );
    return (await ports.publish([record])).length === 0;
  }
}

function claimIds(accountId: number, accepted: readonly AcceptedEvent[]): ClaimId[] {
  const scope = claimScope(accountId, 'message');
  return accepted.filter(needsClaim).map((event) => claimId(scope, event.message_id));
}

/** Undefined for an event that nests deeper than can be written down. */
function jsonOf(event: MappedEvent): string | undefined {
  try {
    return JSON.stringify(event);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
