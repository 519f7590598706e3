import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../../ingest/account.ts';
import type { Accounts } from './accounts.ts';
import type { AccountStore, KeyRow } from './account-store.ts';
import { BatchedLookup } from './batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';

/** Result of verifying a key (ingest 5.1). `unverified`: the store is unreachable. */
export type Verification = Principal | 'invalid' | 'unverified';

/** The store is not queried for this long after a failure; Retry-After says the same. */
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

/** Longer keys are cached by their hash, so that the size of the cache is bounded. */
const MAX_CACHED_TEXT = 64;

/** Verifies write keys. Caches valid and invalid ones; concurrent requests share a lookup. */
export class WriteKeys {
  readonly #options: WriteKeysOptions;
  readonly #known: BoundedMap<string, Known>;
  readonly #lookup: BatchedLookup<string, KeyRow>;
  #retryAt = -Infinity;

  constructor(options: WriteKeysOptions) {
    this.#options = options;
    this.#known = new BoundedMap(options.capacity ?? 100_000);
    this.#lookup = new BatchedLookup((hashes) => this.#queryStore(hashes));
  }

  get size(): number {
    return this.#known.size;
  }

  /** Synchronous for a cached key, which is the common case. Never rejects. */
  verify(key: string): Verification | Promise<Verification> {
    const now = this.#options.now();
    const cacheKey = key.length <= MAX_CACHED_TEXT ? key : hashOf(key);
    const known = this.#known.get(cacheKey);
    if (known && now < known.until) return known.verification;
    if (now < this.#retryAt) return 'unverified';
    return this.#lookUp(cacheKey, hashOf(key));
  }

  async #lookUp(cacheKey: string, keyHash: string): Promise<Verification> {
    try {
      const row = await this.#lookup.find(keyHash);
      const verification = row ? this.#principal(row) : 'invalid';
      this.#known.set(cacheKey, {
        verification,
        until: this.#options.now() + this.#options.cacheFor,
      });
      return verification;
    } catch {
      return 'unverified';
    }
  }

  async #queryStore(hashes: readonly string[]): Promise<Map<string, KeyRow>> {
    const { now, store, onUnreachable } = this.#options;
    if (now() < this.#retryAt) throw new Error('the store was unreachable a moment ago');
    try {
      return await store.keys(hashes);
    } catch (error) {
      this.#retryAt = now() + STORE_PAUSE_MS;
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

const BEARER = 'Bearer ';

/**
 * The write key of a request (ingest 5.1): from `Authorization: Bearer`, else the header
 * X-Service-Key, else the query parameter write_key. Only the exact prefix "Bearer " is stripped;
 * another scheme or an empty value falls through to the next one. Undefined without a key.
 * @param query what follows the question mark; empty when nothing does
 */
export function presentedKey(headers: IncomingHttpHeaders, query: string): string | undefined {
  const authorization = headers.authorization;
  if (authorization?.startsWith(BEARER) && authorization.length > BEARER.length)
    return authorization.slice(BEARER.length);
  const header = headers['x-service-key'];
  if (typeof header === 'string' && header !== '') return header;
  if (query === '') return undefined;
  const parameter = new URLSearchParams(query).get('write_key');
  return parameter === null || parameter === '' ? undefined : parameter;
}
