import type { AliasFact, IdentityRow } from './alias-fact.ts';
import type { Decision, Decisions } from './decisions.ts';
import type { People } from './merge.ts';

/** What is stored about some facts at one revision of the account. */
export interface AccountSnapshot {
  revision: number;
  /** Rows of the distinct ids that the facts mention, where they exist. */
  rows: Map<string, IdentityRow>;
  /** Keys (`factKey`) of those facts that are stored already. */
  stored: Set<string>;
  /** What operators decided about these facts. */
  decisions: Decisions;
}

export interface Change {
  accountId: number;
  /** The revision that the change is based on. */
  revision: number;
  facts: readonly AliasFact[];
  rows: readonly IdentityRow[];
  decision?: Decision;
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
  /** The people of these distinct ids; `decision` counts as if it were stored. */
  loadPeople(accountId: number, ids: readonly string[], decision?: Decision): Promise<People>;
  /** Atomic. Resolves false when the account changed since `revision`. */
  commit(change: Change): Promise<boolean>;
  /** Rows that ClickHouse lacks, up to a revision. */
  unpublished(accountId: number): Promise<{ upTo: number; rows: PublishedRow[] }>;
  markPublished(accountId: number, upTo: number): Promise<void>;
  /** Accounts with rows that ClickHouse lacks. */
  unpublishedAccounts(): Promise<number[]>;
}
