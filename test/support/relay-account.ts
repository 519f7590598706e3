import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { relayPurpose } from '../../events/relays/definition.ts';
import type { Filter } from '../../events/relays/filter.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Sealer } from '../../platform/sealing.ts';
import { post } from './client.ts';
import { RELAY_SECRET } from './relay-receiver.ts';
import { eventually, type TestAccount } from './stack.ts';

interface DeliveryCounts {
  succeeded: number;
  dead: number;
  failed: number;
  pending: number;
}

/**
 * The relays of one account as the control plane would save them, its events, and what the log says
 * of its deliveries.
 */
export class RelayAccount {
  readonly #parts: { database: Database; account: TestAccount; sealer: Sealer; ingestUrl: string };
  readonly #made: number[] = [];

  constructor(parts: {
    database: Database;
    account: TestAccount;
    sealer: Sealer;
    ingestUrl: string;
  }) {
    this.#parts = parts;
  }

  get id(): number {
    return this.#parts.account.accountId;
  }

  /** A relay for one event name, signed with the receiver's secret. */
  async save(options: { event: string; url: string; filters?: Filter[] }): Promise<number> {
    const { rows } = await this.#parts.database.query<{ id: string }>(
      `INSERT INTO relays (account_id, name, url, events, filters, enabled) VALUES ($1, $2, $3, $4, $5, false) RETURNING id`,
      [this.id, randomUUID(), options.url, [options.event], JSON.stringify(options.filters ?? [])],
    );
    const id = Number(rows[0]?.id);
    this.#made.push(id);
    await this.seal(id, this.#parts.sealer, RELAY_SECRET);
    await this.#parts.database.query(
      'UPDATE relays SET enabled = true, active_since = clock_timestamp() WHERE id = $1',
      [id],
    );
    return id;
  }

  async seal(id: number, sealer: Sealer, secret: string): Promise<void> {
    const sealed = sealer.seal(secret, relayPurpose({ accountId: this.id, id }));
    await this.#parts.database.query('UPDATE relays SET secret = $2 WHERE id = $1', [id, sealed]);
  }

  /** Sends one event; it is answered 200. */
  async track(
    event: string,
    messageId: string,
    properties: Record<string, unknown> = {},
  ): Promise<void> {
    const body = { event, user_id: 'u', message_id: messageId, properties };
    const answer = await post(
      `${this.#parts.ingestUrl}/v1/track`,
      this.#parts.account.writeKey,
      body,
    );
    expect(answer.status).toBe(200);
  }

  /** Sends numbered events in batches; answers their message ids. */
  async send(event: string, count: number): Promise<string[]> {
    const ids: string[] = [];
    while (ids.length < count) {
      const batch = Array.from({ length: Math.min(25, count - ids.length) }, (_, at) => {
        const seq = ids.length + at;
        return {
          type: 'track',
          event,
          user_id: `u${seq % 97}`,
          message_id: `${event}-${seq}`,
          properties: { seq },
        };
      });
      const answer = await post(`${this.#parts.ingestUrl}/v1/batch`, this.#parts.account.writeKey, {
        batch,
      });
      expect(answer.status).toBe(200);
      ids.push(...batch.map(({ message_id }) => message_id));
    }
    return ids;
  }

  /** Rows about one relay, which is $1. */
  async rows<T extends object>(sql: string, relayId: number): Promise<T[]> {
    return (await this.#parts.database.query<T>(sql, [relayId])).rows;
  }

  async counts(relayId: number): Promise<DeliveryCounts> {
    const [found] = await this.rows<DeliveryCounts>(
      `SELECT coalesce(sum(succeeded), 0)::int AS succeeded, coalesce(sum(dead), 0)::int AS dead, coalesce(sum(failed_attempts), 0)::int AS failed,
        (SELECT count(*)::int FROM relay_deliveries WHERE relay_id = $1 AND status = 'pending') AS pending FROM relay_hours WHERE relay_id = $1`,
      relayId,
    );
    return found ?? expect.fail('no answer');
  }

  /** Waits until so many deliveries of a relay have ended, and none is pending. */
  async untilFinished(relayId: number, count: number, ms: number): Promise<void> {
    await eventually(
      { ms, every: 500, waitingFor: `${count} deliveries of relay ${relayId} to end` },
      async () => {
        const { succeeded, dead, pending } = await this.counts(relayId);
        return succeeded + dead === count && pending === 0 ? true : undefined;
      },
    );
  }

  /** Message ids that the log calls succeeded although the receiver never accepted them. */
  async falseSuccesses(relayId: number, accepted: ReadonlyMap<string, number>): Promise<string[]> {
    const log = await this.rows<{ message_id: string }>(
      `SELECT message_id FROM relay_deliveries WHERE relay_id = $1 AND status = 'succeeded'`,
      relayId,
    );
    return log.map(({ message_id }) => message_id).filter((id) => !accepted.has(id));
  }

  /**
   * What POST /v1/relays/{id}/retry does (pipeline/relays/RELAYS.md); answers how many are pending
   * again.
   */
  async retry(relayId: number): Promise<number> {
    const { rowCount } = await this.#parts.database.query(
      `UPDATE relay_deliveries SET status = 'pending', attempts = 0, next_attempt_at = now(), pending_since = now(), finished_at = NULL
       WHERE relay_id = $1 AND account_id = $2 AND status = 'dead'`,
      [relayId, this.id],
    );
    return rowCount ?? 0;
  }

  async remove(): Promise<void> {
    await this.#parts.database.query('DELETE FROM relays WHERE id = ANY($1::bigint[])', [
      this.#made,
    ]);
  }
}
