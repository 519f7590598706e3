import { decideQuota } from '../../events/quota.ts';
import type { AccountFacts } from '../../ingest/account.ts';
import type { AccountRow, AccountStore } from './account-store.ts';
import { BatchedLookup } from './batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';

/** A verdict is as old as this at most; so is what it rests on (ingest 8). */
const VERDICT_MS = 15_000;
/** A retention that could not be read again is used this long (ingest 2.4). */
const RETENTION_MS = 60_000;

interface Known {
  facts: AccountFacts;
  /** When the verdict has to be made again. */
  until: number;
  retentionUntil: number;
}

interface AccountsOptions {
  store: AccountStore;
  /**
   * Events that the account has had accepted in this Jalali month; may reject, which leaves the
   * account open.
   */
  eventsThisMonth: (accountId: number) => Promise<number>;
  now: () => number;
  capacity?: number;
  onUnreachable?: (error: unknown) => void;
}

/**
 * The facts of accounts, remembered; when they cannot be read, the account stays open and its
 * retention falls back to the shortest window.
 */
export class Accounts {
  readonly #options: AccountsOptions;
  readonly #known: BoundedMap<number, Known>;
  readonly #lookup: BatchedLookup<number, AccountRow>;
  readonly #pending = new Map<number, Promise<AccountFacts>>();
  /** Rows that came with a key and have no verdict yet. */
  readonly #learned: BoundedMap<number, { row: AccountRow; at: number }>;

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.#known = new BoundedMap(options.capacity ?? 100_000);
    this.#learned = new BoundedMap(options.capacity ?? 100_000);
    this.#lookup = new BatchedLookup((ids) => options.store.accounts(ids));
  }

  /** Takes a row that was read with a key: it saves the first look-up. */
  learn(row: AccountRow): void {
    this.#learned.set(row.id, { row, at: this.#options.now() });
  }

  /** At once when they are fresh, which is the rule. Never rejects. */
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
    const asked = this.#options.now();
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
        until: asked + VERDICT_MS,
        retentionUntil: asked + RETENTION_MS,
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
