import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { STORE_PAUSE_MS } from '../auth/write-keys.ts';
import type { Connection, ConnectionStore } from './connection-store.ts';

/** `unknown`: no active account has it. `unverified`: the store is unreachable. */
export type FoundConnection = Connection | 'unknown' | 'unverified';

interface ConnectionsOptions {
  store: Pick<ConnectionStore, 'byToken'>;
  now: () => number;
  capacity?: number;
  onUnreachable?: (error: unknown) => void;
}

/** How long a cached connection is used while the store is unreachable, ms. */
const CACHED_MS = 60_000;
/** With more concurrent deliveries than this, those within FRESH_MS share a lookup. */
const MANY_DELIVERIES = 8;
const FRESH_MS = 20;
const TOKEN = /^[A-Za-z0-9_-]{32}$/;

/**
 * Finds connections by their token. The store is queried each time, because a connection answers
 * 404 as soon as it is disabled; one query runs at a time and serves all deliveries that arrive
 * meanwhile. Results are cached for the time that the store is unreachable.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #lookup: BatchedLookup<string, Connection>;
  readonly #cache: BoundedMap<string, { connection: Connection; at: number }>;
  #retryAt = -Infinity;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#cache = new BoundedMap(options.capacity ?? 20_000);
    this.#lookup = new BatchedLookup((tokens) => this.#query(tokens));
  }

  /** Never rejects. @param active deliveries in progress */
  async find({ token, active }: { token: string; active: number }): Promise<FoundConnection> {
    if (!TOKEN.test(token)) return 'unknown';
    const { now } = this.#options;
    const known = this.#cache.get(token);
    const queriedAt = now();
    if (
      known?.connection.enabled === true &&
      active > MANY_DELIVERIES &&
      queriedAt - known.at < FRESH_MS
    )
      return known.connection;
    try {
      const connection = await this.#lookup.find(token);
      if (connection) this.#cache.set(token, { connection, at: queriedAt });
      else this.#cache.delete(token);
      return connection ?? 'unknown';
    } catch {
      return known && now() - known.at < CACHED_MS ? known.connection : 'unverified';
    }
  }

  async #query(tokens: readonly string[]): Promise<Map<string, Connection>> {
    const { store, now, onUnreachable } = this.#options;
    if (now() < this.#retryAt) throw new Error('the store was unreachable a moment ago');
    try {
      return await store.byToken(tokens);
    } catch (error) {
      this.#retryAt = now() + STORE_PAUSE_MS;
      onUnreachable?.(error);
      throw error;
    }
  }
}
