import type { ClaimEntry } from '../../events/claims/entry.ts';
import type { LogPosition } from '../../schemas/log-position.ts';
import type { VerdictKind } from '../../schemas/records.ts';
import type { KnownLetter } from '../dlq/dead-letter-store.ts';

/** What a part answered, or why it could not be asked. */
export type Asked<T> =
  { readonly known: true; readonly value: T } | { readonly known: false; readonly why: string };

export interface StoredRow extends LogPosition {
  event: string;
  type: string;
  user_id: string;
  anonymous_id: string;
  /** ms since the epoch */
  timestamp: number;
  received_at: number;
}

/** A raw record that holds the message, as one of its items. */
export interface RawSighting extends LogPosition {
  /** When the log took it, and when the gateway did, ms since the epoch. */
  appendedAt: number;
  receivedAt: number;
  /** The event's own time as the gateway decided it, ms since the epoch. */
  timestamp: number;
  path: string;
  source: string;
  trace: string;
  gateway: string;
  /** The message id was made by the gateway. */
  generated: boolean;
  /** It gives a dead letter of this place another try. */
  redrivenFrom: LogPosition | undefined;
  /** user_id, or else anonymous_id; undefined when the body cannot be read. */
  name: string | undefined;
}

export interface RawSearch {
  found: RawSighting[];
  /** What was looked through, in words, and whether its end was reached. */
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

/** Where the parts stand on the partition of a place. */
export interface Progress {
  /** Next offset of events.raw that the normaliser takes. */
  normaliser: number | undefined;
  /** Next offsets of events.normalised, by group. */
  groups: ReadonlyMap<string, number | undefined>;
}

/** Everything that was asked about one message. */
export interface Evidence {
  messageId: string;
  accountId: number;
  /** ms since the epoch */
  now: number;
  /** Days that the account keeps events, 0 for ever; undefined: there is no such account. */
  retention: Asked<number | undefined>;
  claim: Asked<ClaimEntry | undefined>;
  /** Events of the account in the gateway's spool now. */
  spooled: Asked<number>;
  rows: Asked<readonly StoredRow[]>;
  raw: Asked<RawSearch>;
  /** Verdicts of the normaliser about the raw places that were found, by `placeKey`. */
  verdicts: Asked<ReadonlyMap<string, VerdictKind>>;
  letters: Asked<readonly KnownLetter[]>;
  /**
   * Offset in events.normalised of the run that holds the place in question; undefined: not found.
   */
  normalised: Asked<number | undefined>;
  progress: Asked<Progress>;
  /** Last place folded into the profile of the event's name; undefined: there is no profile. */
  profile: Asked<LogPosition | undefined>;
  /** Whose the name is; undefined: nobody joined it to another. */
  canonical: Asked<string | undefined>;
  /** Undefined: this installation has no relays. */
  deliveries: Asked<readonly Delivery[] | undefined>;
}

export function placeKey({ epoch, partition, offset, index }: LogPosition): string {
  return `${epoch}/${partition}/${offset}/${index}`;
}

/**
 * The place that the answer is about: the stored row's, else the claim's, else the newest one of
 * the raw log.
 */
export function placeOf(
  evidence: Pick<Evidence, 'rows' | 'claim' | 'raw'>,
): LogPosition | undefined {
  const { rows, claim, raw } = evidence;
  if (rows.known && rows.value[0]) return rows.value[0];
  if (claim.known && claim.value?.state === 'resolved') return claim.value.position;
  return raw.known ? raw.value.found.at(-1) : undefined;
}
