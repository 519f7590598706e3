import type { AliasFact, IdentityRow } from './alias-fact.ts';
import type { People } from './merge.ts';

/** Aliases of `previousId` received up to `until` (ms since the epoch) merge nothing. */
export interface Undo {
  previousId: string;
  until: number;
}

/** What is stored about some facts at one revision of the account. */
export interface AccountSnapshot {
  revision: number;
  /** Rows of the distinct ids that the facts mention, where they exist. */
  rows: Map<string, IdentityRow>;
  /** Keys (`factKey`) of those facts that are stored already. */
  stored: Set<string>;
  /** Until when aliases of a previous_id are undone. */
  undone: Map<string, number>;
}

export interface Change {
  accountId: number;
  /** The revision that the change is based on. */
  revision: number;
  facts: readonly AliasFact[];
  rows: readonly IdentityRow[];
  undo?: Undo;
}

/** A row of identities_flat. */
export interface PublishedRow {
  distinctId: string;
  canonicalId: string;
  revision: number;
}

/** Stores facts and people; every method may be repeated. */
export interface IdentityStore {
  snapshot(accountId: number, facts: readonly AliasFact[]): Promise<AccountSnapshot>;
  /** The people of these distinct ids; `undo` counts as if it were stored. */
  loadPeople(accountId: number, ids: readonly string[], undo?: Undo): Promise<People>;
  /** Atomic. Resolves false when the account changed since `revision`. */
  commit(change: Change): Promise<boolean>;
  /** Rows that ClickHouse lacks, up to a revision. */
  unpublished(accountId: number): Promise<{ upTo: number; rows: PublishedRow[] }>;
  markPublished(accountId: number, upTo: number): Promise<void>;
  /** Accounts with rows that ClickHouse lacks. */
  unpublishedAccounts(): Promise<number[]>;
}
