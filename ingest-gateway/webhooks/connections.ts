import { BatchedLookup } from '../auth/batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { STORE_PAUSE_MS } from '../auth/write-keys.ts';
import type { Connection, ConnectionStore } from './connection-store.ts';

/**
 * `unknown`: no active account has such a connection. `unverified`: the store could not be asked,
 * which is no fault of the platform.
 */
export type FoundConnection = Connection | 'unknown' | 'unverified';

interface ConnectionsOptions {
  store: Pick<ConnectionStore, 'byToken'>;
  now: () => number;
  capacity?: number;
  onUnreachable?: (error: unknown) => void;
}

/** How long a connection is good for while the store cannot be reached, ms. */
const REMEMBERED_MS = 60_000;
/**
 * In a flood (so many deliveries under way) those that follow each other so closely, ms, share an
 * answer of the store.
 */
const FLOOD = 8;
const FRESH_MS = 20;
const TOKEN = /^[A-Za-z0-9_-]{32}$/;

/**
 * Finds connections by their token. The store is asked anew all the time, because a connection that
 * is disabled answers 404 from then on: one query is under way at a time and serves all deliveries
 * that came in meanwhile. What it answered is remembered for the time that it cannot be reached.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #lookup: BatchedLookup<string, Connection>;
  readonly #remembered: BoundedMap<string, { connection: Connection; at: number }>;
  #askAgainAt = -Infinity;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#remembered = new BoundedMap(options.capacity ?? 20_000);
    this.#lookup = new BatchedLookup((tokens) => this.#ask(tokens));
  }

  /** Never rejects. @param underWay deliveries that the gateway has in hand */
  async find({ token, underWay }: { token: string; underWay: number }): Promise<FoundConnection> {
    if (!TOKEN.test(token)) return 'unknown';
    const { now } = this.#options;
    const known = this.#remembered.get(token);
    const asked = now();
    if (known?.connection.enabled === true && underWay > FLOOD && asked - known.at < FRESH_MS)
      return known.connection;
    try {
      const connection = await this.#lookup.find(token);
      if (connection) this.#remembered.set(token, { connection, at: asked });
      else this.#remembered.delete(token);
      return connection ?? 'unknown';
    } catch {
      return known && now() - known.at < REMEMBERED_MS ? known.connection : 'unverified';
    }
  }

  async #ask(tokens: readonly string[]): Promise<Map<string, Connection>> {
    const { store, now, onUnreachable } = this.#options;
    if (now() < this.#askAgainAt) throw new Error('the store could not be reached a moment ago');
    try {
      return await store.byToken(tokens);
    } catch (error) {
      this.#askAgainAt = now() + STORE_PAUSE_MS;
      onUnreachable?.(error);
      throw error;
    }
  }
}
