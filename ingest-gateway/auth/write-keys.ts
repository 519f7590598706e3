import { hash } from 'node:crypto';
import type { Principal } from '../../ingest/account.ts';
import type { Accounts } from './accounts.ts';
import type { AccountStore, KeyRow } from './account-store.ts';
import { BatchedLookup } from './batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';

/**
 * How a key was verified (ingest 5.1). `unverified`: the store could not be asked, which is no
 * fault of the client.
 */
export type Verification = Principal | 'invalid' | 'unverified';

/** The pause after a store that could not be reached; clients are told the same in Retry-After. */
export const STORE_PAUSE_MS = 5000;

interface Known {
  verification: Principal | 'invalid';
  until: number;
}

interface WriteKeysOptions {
  store: AccountStore;
  accounts: Accounts;
  /** WRITE_KEY_CACHE, ms. */
  cacheFor: number;
  capacity?: number;
  now: () => number;
  onUnreachable?: (error: unknown) => void;
}

/** Longer ones are remembered by their hash, so that the size of the cache is bounded. */
const MAX_CACHED_TEXT = 64;

/**
 * Verifies write keys: remembers known and unknown ones for the same time, asks the store once for
 * a key however many requests carry it.
 */
export class WriteKeys {
  readonly #options: WriteKeysOptions;
  readonly #known: BoundedMap<string, Known>;
  readonly #lookup: BatchedLookup<string, KeyRow>;
  #askAgainAt = -Infinity;

  constructor(options: WriteKeysOptions) {
    this.#options = options;
    this.#known = new BoundedMap(options.capacity ?? 100_000);
    this.#lookup = new BatchedLookup((hashes) => this.#askStore(hashes));
  }

  get size(): number {
    return this.#known.size;
  }

  /** At once when the key is remembered, which is the rule. Never rejects. */
  verify(key: string): Verification | Promise<Verification> {
    const now = this.#options.now();
    const remembered = key.length <= MAX_CACHED_TEXT ? key : hashOf(key);
    const known = this.#known.get(remembered);
    if (known && now < known.until) return known.verification;
    if (now < this.#askAgainAt) return 'unverified';
    return this.#ask(remembered, hashOf(key));
  }

  async #ask(remembered: string, keyHash: string): Promise<Verification> {
    try {
      const row = await this.#lookup.find(keyHash);
      const verification = row ? this.#principal(row) : 'invalid';
      this.#known.set(remembered, {
        verification,
        until: this.#options.now() + this.#options.cacheFor,
      });
      return verification;
    } catch {
      return 'unverified';
    }
  }

  async #askStore(hashes: readonly string[]): Promise<Map<string, KeyRow>> {
    const { now, store, onUnreachable } = this.#options;
    if (now() < this.#askAgainAt) throw new Error('the store could not be reached a moment ago');
    try {
      return await store.keys(hashes);
    } catch (error) {
      this.#askAgainAt = now() + STORE_PAUSE_MS;
      onUnreachable?.(error);
      throw error;
    }
  }

  #principal({ account, appId, writeKeyId }: KeyRow): Principal {
    this.#options.accounts.learn(account);
    return { accountId: account.id, appId, writeKeyId };
  }
}

function hashOf(key: string): string {
  return hash('sha256', key, 'hex');
}
