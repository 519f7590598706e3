import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../../ingest/account.ts';
import type { Accounts } from './accounts.ts';
import type { AccountStore, KeyRow } from './account-store.ts';
import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { RecentSet } from '../../platform/recent-set.ts';

/** Result of verifying a key (ingest 5.1). `unverified`: the store is unreachable. */
export type Verification = Principal | 'invalid' | 'unverified';

/** The store is not queried for this long after a failure; Retry-After says the same. */
export const STORE_PAUSE_MS = 5000;

interface Known {
  principal: Principal;
  until: number;
}

interface WriteKeysOptions {
  store: Pick<AccountStore, 'keys'>;
  accounts: Pick<Accounts, 'learn'>;
  /** WRITE_KEY_CACHE, ms. */
  cacheFor: number;
  /** Keys that exist, and as many that do not. */
  capacity?: number;
  /** Monotonic, ms. */
  now: () => number;
  onUnreachable?: (error: unknown) => void;
}

/**
 * Verifies write keys. Caches valid and invalid ones; concurrent requests share a look-up. Anybody
 * can present keys that do not exist, so these have a cache and look-ups of their own: they cannot
 * evict or delay keys that exist. A cache holds digests, never a part of the text in which a key
 * arrived. A key is not refused by its form: the prefix is not checked (ingest 5.1), and a flood
 * would have the right one.
 */
export class WriteKeys {
  readonly #options: WriteKeysOptions;
  /** By digest; expired ones stay, so that their look-up is preferred. */
  readonly #known: BoundedMap<string, Known>;
  readonly #unknown: RecentSet;
  readonly #firstLookup: BatchedLookup<string, KeyRow>;
  /** Of keys that were valid before. */
  readonly #laterLookup: BatchedLookup<string, KeyRow>;
  #retryAt = -Infinity;

  constructor(options: WriteKeysOptions) {
    this.#options = options;
    const { capacity = 100_000, cacheFor } = options;
    this.#known = new BoundedMap(capacity);
    this.#unknown = new RecentSet({ capacity, keepFor: cacheFor });
    this.#firstLookup = new BatchedLookup((digests) => this.#queryStore(digests));
    this.#laterLookup = new BatchedLookup((digests) => this.#queryStore(digests));
  }

  /** Cached keys, valid or not. */
  get size(): number {
    return this.#known.size + this.#unknown.size;
  }

  /**
   * Synchronous for a cached key, which is the common case. Never rejects.
   * @param digest that of the key, for a caller that kept it: it costs more than the look-up
   */
  verify(key: string, digest = keyDigest(key)): Verification | Promise<Verification> {
    const now = this.#options.now();
    const known = this.#known.get(digest);
    if (known && now < known.until) return known.principal;
    if (this.#unknown.has(digest, now)) return 'invalid';
    if (now < this.#retryAt) return 'unverified';
    return this.#lookUp(digest, known ? this.#laterLookup : this.#firstLookup);
  }

  async #lookUp(digest: string, lookup: BatchedLookup<string, KeyRow>): Promise<Verification> {
    try {
      const row = await lookup.find(digest);
      const now = this.#options.now();
      this.#unknown.dropExpired(now);
      if (row === undefined) {
        this.#known.delete(digest);
        this.#unknown.add(digest, now);
        return 'invalid';
      }
      const principal = this.#principal(row);
      this.#known.set(digest, { principal, until: now + this.#options.cacheFor });
      return principal;
    } catch {
      return 'unverified';
    }
  }

  async #queryStore(digests: readonly string[]): Promise<Map<string, KeyRow>> {
    const { now, store, onUnreachable } = this.#options;
    if (now() < this.#retryAt) throw new Error('the store was unreachable a moment ago');
    try {
      return await store.keys(digests);
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

/** By which a key is cached and stored. */
export function keyDigest(key: string): string {
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
