import { delay } from '../../../platform/backoff.ts';
import type { Delivery, Outcome } from '../delivery.ts';
import type { DueRow, AvailableEndpoint } from '../plan-claim.ts';
import type { ClaimedDelivery } from '../store.ts';

interface Row {
  delivery: Delivery;
  /** ms */
  dueAt: number;
  isLeased: boolean;
}

/** The queue in PostgreSQL as the statements DUE, CLAIM and FINISH see it, in memory. */
export class QueueModel {
  readonly #rows = new Map<number, Map<number, Row>>();
  readonly #relayOf = new Map<number, number>();
  readonly #statementMs: number;
  #nextId = 1;
  /** Rows of all claims together, and the most at once. */
  readonly claimed = { rows: 0, most: 0 };

  constructor(options: { statementMs: number }) {
    this.#statementMs = options.statementMs;
  }

  add(delivery: Delivery, dueAt = Date.now()): void {
    const id = this.#nextId++;
    const rows = this.#rows.get(delivery.relayId) ?? new Map<number, Row>();
    this.#rows.set(delivery.relayId, rows.set(id, { delivery, dueAt, isLeased: false }));
    this.#relayOf.set(id, delivery.relayId);
  }

  pending(relayId: number): number {
    return this.#rows.get(relayId)?.size ?? 0;
  }

  async due(options: {
    endpoints: readonly AvailableEndpoint[];
    limit: number;
  }): Promise<DueRow[]> {
    await delay(this.#statementMs);
    const { endpoints, limit } = options;
    return endpoints
      .flatMap(({ relayId, capacity }) =>
        [...(this.#rows.get(relayId) ?? [])]
          .filter(([, { dueAt, isLeased }]) => !isLeased && dueAt <= Date.now())
          .slice(0, capacity)
          .map(([id, { delivery }]) => ({ id, relayId, bytes: delivery.payload.length })),
      )
      .slice(0, limit);
  }

  async claim({ ids }: { ids: readonly number[] }): Promise<ClaimedDelivery[]> {
    await delay(this.#statementMs);
    this.claimed.rows += ids.length;
    this.claimed.most = Math.max(this.claimed.most, ids.length);
    return ids.flatMap((id) => {
      const row = this.#rowOf(id);
      if (!row || row.isLeased) return [];
      row.isLeased = true;
      return [{ id, delivery: row.delivery }];
    });
  }

  async finish(outcomes: readonly { id: number; outcome: Outcome }[]): Promise<void> {
    await delay(this.#statementMs);
    for (const { id, outcome } of outcomes) {
      const row = this.#rowOf(id);
      if (!row) continue;
      row.isLeased = false;
      if (outcome.kind === 'waiting' || outcome.kind === 'retry')
        row.dueAt = Date.now() + outcome.delay;
      else this.#rows.get(row.delivery.relayId)?.delete(id);
    }
  }

  #rowOf(id: number): Row | undefined {
    return this.#rows.get(this.#relayOf.get(id) ?? -1)?.get(id);
  }
}
