import type { ClaimEntry } from '../../events/claims/entry.ts';
import type { LogPosition } from '../../schemas/log-position.ts';
import type { VerdictKind } from '../../schemas/records.ts';
import type { DeadLetterRow } from '../dlq/dead-letter-store.ts';

/** What a server answered, or why it did not. */
export type Fact<T> =
  { readonly known: true; readonly value: T } | { readonly known: false; readonly why: string };

export interface StoredRow extends LogPosition {
  event: string;
  type: string;
  user_id: string;
  anonymous_id: string;
  /** Of an alias; otherwise empty. */
  previous_id: string;
  /** Empty in rows of version 1. */
  trace: string;
  /** ms since the epoch */
  timestamp: number;
  received_at: number;
}

/** A raw record that holds the message, as one of its items. */
export interface RawOccurrence extends LogPosition {
  accountId: number;
  messageId: string;
  /** When it was appended, and when the gateway received it, ms since the epoch. */
  appendedAt: number;
  receivedAt: number;
  /** The event's timestamp as the gateway determined it, ms since the epoch. */
  timestamp: number;
  path: string;
  source: string;
  trace: string;
  gateway: string;
  /** The gateway generated the message id. */
  generated: boolean;
  /** Position of the dead letter that this record redrives. */
  redrivenFrom: LogPosition | undefined;
  /** user_id, or else anonymous_id; undefined when the body cannot be read. */
  distinctId: string | undefined;
  /** Of an alias. */
  previousId: string | undefined;
}

export interface RawSearch {
  found: RawOccurrence[];
  /** The searched range, in words, and whether it was searched completely. */
  searched: string;
  complete: boolean;
}

export interface Delivery {
  relay: string;
  status: string;
  attempts: number;
  response_status: number | null;
  error: string | null;
  /** ms since the epoch */
  created_at: number;
}

/** Committed offsets on the partition of a position. */
export interface Progress {
  /** Next offset of events.raw that the normaliser processes. */
  normaliser: number | undefined;
  /** Next offsets of events.normalised, by group. */
  groups: ReadonlyMap<string, number | undefined>;
}

/** Whose the distinct ids of the event are. */
export interface Identities {
  /** Canonical ids of its distinct id and of the id that it merges, if an alias mentioned them. */
  canonical: ReadonlyMap<string, string>;
  /** Other distinct ids of the person of its distinct id; at most 100 are counted. */
  others: number;
}

/** Everything known about one message. */
export interface Evidence {
  messageId: string;
  accountId: number;
  /** ms since the epoch */
  now: number;
  /** Retention of the account in days, 0: unlimited; undefined: there is no such account. */
  retention: Fact<number | undefined>;
  claim: Fact<ClaimEntry | undefined>;
  /** Events of the account in the gateway's spool now. */
  spooled: Fact<number>;
  rows: Fact<readonly StoredRow[]>;
  raw: Fact<RawSearch>;
  /** Verdicts of the normaliser on the found raw positions, by `positionKey`. */
  verdicts: Fact<ReadonlyMap<string, VerdictKind>>;
  deadLetters: Fact<readonly DeadLetterRow[]>;
  /**
   * Offset in events.normalised of the row batch that holds the position; undefined: not found.
   */
  normalised: Fact<number | undefined>;
  progress: Fact<Progress>;
  /** Last position folded into the profile of the distinct id; undefined: no profile. */
  profile: Fact<LogPosition | undefined>;
  identities: Fact<Identities>;
  /** undefined: this installation has no relays. */
  deliveries: Fact<readonly Delivery[] | undefined>;
}

export function positionKey({ epoch, partition, offset, index }: LogPosition): string {
  return `${epoch}/${partition}/${offset}/${index}`;
}

/** The answer's position: of the stored row, else the claim, else the newest raw record. */
export function positionOf(
  evidence: Pick<Evidence, 'rows' | 'claim' | 'raw'>,
): LogPosition | undefined {
  const { rows, claim, raw } = evidence;
  if (rows.known && rows.value[0]) return rows.value[0];
  if (claim.known && claim.value?.state === 'resolved') return claim.value.position;
  return raw.known ? raw.value.found.at(-1) : undefined;
}

/** user_id, or else anonymous_id; undefined: not known. */
export function distinctIdOf(
  row: StoredRow | undefined,
  occurrence: RawOccurrence | undefined,
): string | undefined {
  return row ? row.user_id || row.anonymous_id : occurrence?.distinctId;
}

/** The id that the event, an alias, merges into its distinct id; undefined: it is no alias. */
export function previousIdOf(
  row: StoredRow | undefined,
  occurrence: RawOccurrence | undefined,
): string | undefined {
  return row ? row.previous_id || undefined : occurrence?.previousId;
}
