import { unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { ErasureCut } from '../../schemas/records.ts';

/** docs/erasure.md explains the states; they follow each other in this order. */
export type ErasureState = 'requested' | 'recorded' | 'enforced' | 'removed' | 'rewritten';

/** Offsets by partition. */
export type Ends = Readonly<Record<string, number>>;

/** By topic, the offsets that its groups must have reached. */
export type Barrier = Readonly<Record<string, Ends>>;

/** Removed rows by the minute of their reception (Unix s). */
export type MinuteCounts = readonly (readonly [minute: number, rows: number])[];

/** A row of erasures. */
export interface ErasureRow {
  id: number;
  accountId: number;
  keyId: number;
  hashes: readonly Buffer[];
  /** Of the addresses that only the person had; known once the removal has begun. */
  addressHashes: readonly Buffer[];
  /** Undefined: a verification has passed, and the names are no longer stored. */
  names: readonly string[] | undefined;
  state: ErasureState;
  cuts: readonly ErasureCut[] | undefined;
  /** Ends of events.normalised before the cut. */
  since: Ends | undefined;
  barrier: Barrier | undefined;
  counts: MinuteCounts | undefined;
  /** What was removed, by store. */
  removed: Readonly<Record<string, number>>;
  /** ms since the epoch */
  requestedAt: number;
  /** Messages that were planned until then are the person's, ms; undefined: it is not known yet. */
  messagesUntil: number | undefined;
  /** Since the request, ms. */
  age: number;
  verifiedAt: number | undefined;
}

/** As PostgreSQL has it, with COLUMNS. */
export interface StoredErasure {
  id: string;
  account_id: string;
  key_id: number;
  name_hashes: Buffer[];
  address_hashes: Buffer[];
  names: string[] | null;
  state: ErasureState;
  cuts: ErasureCut[] | null;
  since: Ends | null;
  barrier: Barrier | null;
  counts: MinuteCounts | null;
  removed: Record<string, number>;
  requested_at: number;
  messages_until: number | null;
  age: number;
  verified_at: number | null;
}

export const COLUMNS = `id, account_id, key_id, name_hashes, address_hashes, names, state, cuts, since, barrier, counts, removed,
  extract(epoch FROM requested_at)::float8 * 1000 AS requested_at,
  extract(epoch FROM messages_until)::float8 * 1000 AS messages_until,
  extract(epoch FROM clock_timestamp() - requested_at)::float8 * 1000 AS age,
  extract(epoch FROM verified_at)::float8 * 1000 AS verified_at`;

export function erasureRow(row: StoredErasure): ErasureRow {
  return {
    id: Number(row.id),
    accountId: Number(row.account_id),
    keyId: row.key_id,
    hashes: row.name_hashes,
    addressHashes: row.address_hashes,
    names: row.names?.map(unescapeText),
    state: row.state,
    cuts: row.cuts ?? undefined,
    since: row.since ?? undefined,
    barrier: row.barrier ?? undefined,
    counts: row.counts ?? undefined,
    removed: row.removed,
    requestedAt: row.requested_at,
    messagesUntil: row.messages_until ?? undefined,
    age: row.age,
    verifiedAt: row.verified_at ?? undefined,
  };
}
