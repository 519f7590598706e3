import type { NameRow } from './advance.ts';
import type { AliasFact } from './alias-fact.ts';
import type { People } from './recompute.ts';

/** Aliases of previousId that were received up to `until` (ms since the epoch) join nothing. */
export interface Undo {
  previousId: string;
  until: number;
}

/** What stands about some facts at one revision of the account. */
export interface Look {
  revision: number;
  /** Rows of the names that the facts mention, as far as there are any. */
  rows: Map<string, NameRow>;
  /** Keys (`factKey`) of those facts that are stored already. */
  stored: Set<string>;
  /** Until when aliases of a previous_id were undone. */
  undone: Map<string, number>;
}

export interface Change {
  accountId: number;
  /** That everything was read at. */
  revision: number;
  facts: readonly AliasFact[];
  rows: readonly NameRow[];
  undo?: Undo;
}

/**
 * Where facts and people are kept. Every method rejects when the store does not answer; repeating
 * is harmless.
 */
export interface IdentityStore {
  look(accountId: number, facts: readonly AliasFact[]): Promise<Look>;
  /** The people who have these names, as of now; `undo` counts as if it were stored. */
  people(accountId: number, names: readonly string[], undo?: Undo): Promise<People>;
  /**
   * Stores all of it, or nothing and answers false: somebody else changed the account since
   * `revision`.
   */
  commit(change: Change): Promise<boolean>;
  /** What ClickHouse does not have yet, up to a revision. */
  unpublished(
    accountId: number,
  ): Promise<{ upTo: number; rows: { name: string; canonical: string; revision: number }[] }>;
  published(accountId: number, upTo: number): Promise<void>;
  /** Accounts with rows that ClickHouse does not have yet. */
  accountsToPublish(): Promise<number[]>;
}
