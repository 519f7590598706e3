import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { STORE_PAUSE_MS } from '../auth/write-keys.ts';
import type { Connection, ConnectionStore } from './connection-store.ts';

/** `unknown`: no active account has it. `unverified`: the store is unreachable. */
export type FoundConnection = Connection | 'unknown' | 'unverified';

interface ConnectionsOptions {
  store: Pick<ConnectionStore, 'byToken' | 'revision'>;
  now: () => number;
  capacity?: number;
  onUnreachable?: (error: unknown) => void;
}

interface Known {
  connection: Connection;
  /** Of the store when it was looked up. */
  revision: string;
  /** When the store last confirmed it. */
  at: number;
}

/** How long a cached connection is used while the store is unreachable, ms. */
const CACHED_MS = 60_000;
/** With more deliveries in progress than this, those within FRESH_MS share a check. */
const MANY_DELIVERIES = 8;
const FRESH_MS = 20;
const TOKEN = /^[A-Za-z0-9_-]{32}$/;

/**
 * Finds connections by their token. A connection answers 404 as soon as it is disabled: the store
 * is asked for its revision each time, one small query that all deliveries of all accounts share,
 * and a connection is looked up again only when the revision has changed. Anybody can send tokens
 * that nobody has, so these have a cache and look-ups of their own: they cannot evict or delay
 * tokens that exist. What is cached is used while the store is unreachable.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #known: BoundedMap<string, Known>;
  /** Tokens that nobody had, with the revision. */
  readonly #unknown: BoundedMap<string, string>;
  readonly #check: BatchedLookup<'revision', string>;
  readonly #firstLookup: BatchedLookup<string, Connection>;
  /** Of tokens that existed before. */
  readonly #laterLookup: BatchedLookup<string, Connection>;
  #checked: { revision: string; at: number } | undefined;
  #retryAt = -Infinity;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { store, capacity = 20_000 } = options;
    this.#known = new BoundedMap(capacity);
    this.#unknown = new BoundedMap(capacity);
    this.#check = new BatchedLookup(async () => {
      const at = options.now();
      const revision = await this.#ask(() => store.revision());
      this.#checked = { revision, at };
      return new Map([['revision', revision]]);
    });
    const byToken = (tokens: readonly string[]) => this.#ask(() => store.byToken(tokens));
    this.#firstLookup = new BatchedLookup(byToken);
    this.#laterLookup = new BatchedLookup(byToken);
  }

  /** The account of a token that was found before. */
  accountOf(token: string): number | undefined {
    return this.#known.get(token)?.connection.accountId;
  }

  /** Never rejects. @param active deliveries in progress */
  async find({ token, active }: { token: string; active: number }): Promise<FoundConnection> {
    if (!TOKEN.test(token)) return 'unknown';
    const { now } = this.#options;
    const startedAt = now();
    const known = this.#known.get(token);
    try {
      const checked = this.#checked;
      const isFresh =
        checked !== undefined && active > MANY_DELIVERIES && startedAt - checked.at < FRESH_MS;
      // Read before the connection: a change in between is noticed by the next delivery.
      const revision = isFresh ? checked.revision : await this.#check.find('revision');
      if (revision === undefined) return 'unverified';
      if (known?.revision === revision) {
        known.at = startedAt;
        return known.connection;
      }
      if (!known && this.#unknown.get(token) === revision) return 'unknown';
      const lookup = known ? this.#laterLookup : this.#firstLookup;
      const connection = await lookup.find(token);
      if (connection) this.#known.set(token, { connection, revision, at: startedAt });
      else this.#forget(token, revision);
      return connection ?? 'unknown';
    } catch {
      return known && now() - known.at < CACHED_MS ? known.connection : 'unverified';
    }
  }

  #forget(token: string, revision: string): void {
    this.#known.delete(token);
    this.#unknown.set(token, revision);
  }

  async #ask<T>(query: () => Promise<T>): Promise<T> {
    const { now, onUnreachable } = this.#options;
    if (now() < this.#retryAt) throw new Error('the store was unreachable a moment ago');
    try {
      return await query();
    } catch (error) {
      this.#retryAt = now() + STORE_PAUSE_MS;
      onUnreachable?.(error);
      throw error;
    }
  }
}
