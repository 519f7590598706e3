import { decideQuota } from '../../events/quota.ts';
import type { AccountFacts } from '../../ingest/account.ts';
import type { AccountRow, AccountStore } from './account-store.ts';
import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';

/** Maximum age of a quota verdict and of the facts that it is based on (ingest 8). */
const VERDICT_MS = 15_000;
/** How long a retention applies that cannot be read again (ingest 2.4). */
const RETENTION_MS = 60_000;

interface Known {
  facts: AccountFacts;
  /** When the facts expire. */
  until: number;
  retentionUntil: number;
}

interface AccountsOptions {
  store: AccountStore;
  /** Accepted events of this Jalali month; a rejection leaves the account open. */
  eventsThisMonth: (accountId: number) => Promise<number>;
  now: () => number;
  capacity?: number;
  onUnreachable?: (error: unknown) => void;
}

/**
 * Caches the facts of accounts. When they cannot be read, the account is open and its retention
 * uses the shortest window.
 */
export class Accounts {
  readonly #options: AccountsOptions;
  readonly #known: BoundedMap<number, Known>;
  readonly #lookup: BatchedLookup<number, AccountRow>;
  readonly #pending = new Map<number, Promise<AccountFacts>>();
  /** Rows that were read with a key and have no verdict yet. */
  readonly #learned: BoundedMap<number, { row: AccountRow; at: number }>;

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.#known = new BoundedMap(options.capacity ?? 100_000);
    this.#learned = new BoundedMap(options.capacity ?? 100_000);
    this.#lookup = new BatchedLookup((ids) => options.store.accounts(ids));
  }

  /** Keeps a row that was read with a key; it saves the first lookup. */
  learn(row: AccountRow): void {
    this.#learned.set(row.id, { row, at: this.#options.now() });
  }

  /** Synchronous while cached facts are fresh, which is the common case. Never rejects. */
  facts(accountId: number): AccountFacts | Promise<AccountFacts> {
    const known = this.#known.get(accountId);
    if (known && this.#options.now() < known.until) return known.facts;
    let pending = this.#pending.get(accountId);
    if (!pending) {
      pending = this.#refresh(accountId, known).finally(() => this.#pending.delete(accountId));
      this.#pending.set(accountId, pending);
    }
    return pending;
  }

  async #refresh(accountId: number, before: Known | undefined): Promise<AccountFacts> {
    const readAt = this.#options.now();
    const row = await this.#read(accountId);
    const eventsThisMonth = row && row.maxEvents > 0 ? await this.#count(accountId) : undefined;
    const now = this.#options.now();
    if (row) {
      const facts: AccountFacts = {
        retentionDays: row.retentionDays,
        quota: decideQuota({ ...row, eventsThisMonth }),
      };
      this.#known.set(accountId, {
        facts,
        until: readAt + VERDICT_MS,
        retentionUntil: readAt + RETENTION_MS,
      });
      return facts;
    }
    const isStillKnown = before !== undefined && now < before.retentionUntil;
    const facts: AccountFacts = {
      retentionDays: isStillKnown ? before.facts.retentionDays : undefined,
      quota: 'open',
    };
    const retentionUntil = isStillKnown ? before.retentionUntil : 0;
    this.#known.set(accountId, {
      facts,
      until: isStillKnown ? Math.min(now + VERDICT_MS, retentionUntil) : now + VERDICT_MS,
      retentionUntil,
    });
    return facts;
  }

  async #read(accountId: number): Promise<AccountRow | undefined> {
    const learned = this.#learned.get(accountId);
    this.#learned.delete(accountId);
    if (learned && this.#options.now() - learned.at < 1000) return learned.row;
    try {
      return await this.#lookup.find(accountId);
    } catch (error) {
      this.#options.onUnreachable?.(error);
      return undefined;
    }
  }

  async #count(accountId: number): Promise<number | undefined> {
    try {
      return await this.#options.eventsThisMonth(accountId);
    } catch (error) {
      this.#options.onUnreachable?.(error);
      return undefined;
    }
  }
}
