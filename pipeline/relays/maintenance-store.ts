import type { Database } from '../../platform/postgres/pool.ts';
import * as sql from './maintenance-statements.ts';

/** What maintenance does to the tables of RELAYS.md, in bounded atomic statements. */
export class MaintenanceStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Relays with deliveries that have been pending for more than `age` ms. */
  async withExpired(age: number): Promise<{ relayId: number; accountId: number }[]> {
    const { rows } = await this.#database.query<{ relay_id: string; account_id: string }>(
      sql.WITH_EXPIRED,
      [age / 1000],
    );
    return rows.map(({ relay_id: relayId, account_id: accountId }) => ({
      relayId: Number(relayId),
      accountId: Number(accountId),
    }));
  }

  /**
   * Ends at most MAINTENANCE_ROWS deliveries of a relay that have been pending for `age` ms;
   * answers how many. They are dead with this reason, or only counted.
   */
  async expirePending(options: {
    relayId: number;
    age: number;
    reason: string;
    isKept: boolean;
  }): Promise<number> {
    const { relayId, age, reason, isKept } = options;
    const { rows } = await this.#database.query<{ rows: number }>(sql.EXPIRE_PENDING, [
      relayId,
      age / 1000,
      reason,
      isKept,
    ]);
    return rows[0]?.rows ?? 0;
  }

  /** Relays whose successes may be pruned. */
  async withSuccesses(): Promise<number[]> {
    const { rows } = await this.#database.query<{ relay_id: string }>(sql.WITH_SUCCESSES);
    return rows.map(({ relay_id: relayId }) => Number(relayId));
  }

  /**
   * Deletes at most MAINTENANCE_ROWS rows: successes of these relays beyond their newest `keep`;
   * dead deliveries older than `retention` ms; hours older than 400 days. Answers how many.
   */
  pruneSuccesses(relayIds: readonly number[], keep: number): Promise<number> {
    return this.#change(sql.PRUNE_SUCCESSES, [relayIds, keep]);
  }
  pruneDead(retention: number): Promise<number> {
    return this.#change(sql.PRUNE_DEAD, [retention / 1000]);
  }
  pruneHours(): Promise<number> {
    return this.#change(sql.PRUNE_HOURS, []);
  }

  /** Due rows, at most 1,000 of each relay, and how long the oldest has been due, ms. */
  async dueRows(): Promise<{ due: number; oldest: number }> {
    const { rows } = await this.#database.query<{ due: number; oldest: number }>(sql.DUE_ROWS);
    return rows[0] ?? { due: 0, oldest: 0 };
  }

  /** Disables relays that have only failed for `age` ms; answers them. */
  async disableFailing(age: number): Promise<{ relayId: number; accountId: number }[]> {
    const days = Math.round(age / 86_400_000);
    const { rows } = await this.#database.query<{ id: string; account_id: string }>(
      sql.DISABLE_FAILING,
      [age / 1000, `its endpoint answered no attempt with success for ${days} days`],
    );
    return rows.map(({ id, account_id: accountId }) => ({
      relayId: Number(id),
      accountId: Number(accountId),
    }));
  }

  async #change(statement: string, values: readonly unknown[]): Promise<number> {
    return (await this.#database.query(statement, [...values])).rowCount ?? 0;
  }
}
