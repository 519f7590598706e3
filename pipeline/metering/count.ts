import type { IngestOutcome, RawRecord, Verdict, VerdictKind } from '../../schemas/records.ts';

const MINUTE = 60_000;

/** What is added to the books of one account and minute. */
export interface BookDelta {
  account_id: number;
  /** Start of the minute of reception, ms since the epoch. */
  minute: number;
  places: number;
  repeats: number;
  duplicates_after: number;
  dead: number;
  expired: number;
  duplicates_before: number;
  rejected: number;
}

export const COUNTS = ['places', 'repeats', 'duplicates_after', 'dead', 'expired', 'duplicates_before', 'rejected'] as const;
type Counts = Pick<BookDelta, (typeof COUNTS)[number]>;

const COLUMN_OF: Record<VerdictKind, keyof Counts> = { duplicate: 'duplicates_after', repeat: 'repeats', dead: 'dead', expired: 'expired' };

/** Adds up counts by account and minute. */
export class BookDeltas {
  readonly #byKey = new Map<string, BookDelta>();

  add(accountId: number, receivedAt: number, counts: Partial<Counts>): void {
    const minute = Math.floor(receivedAt / MINUTE) * MINUTE;
    const key = `${accountId} ${minute}`;
    let delta = this.#byKey.get(key);
    if (!delta) {
      delta = { account_id: accountId, minute, places: 0, repeats: 0, duplicates_after: 0, dead: 0, expired: 0, duplicates_before: 0, rejected: 0 };
      this.#byKey.set(key, delta);
    }
    for (const name of COUNTS) delta[name] += counts[name] ?? 0;
  }

  all(): BookDelta[] {
    return [...this.#byKey.values()];
  }
}

/** A raw record: each of its items is a place in the log. A redriven dead letter is no new acceptance: its old place is counted already. */
export function countRaw(deltas: BookDeltas, record: RawRecord): void {
  if (record.redriven_from !== null)
    deltas.add(record.account_id, record.received_at, { places: record.items.length, repeats: record.items.length, dead: -record.items.length });
  else deltas.add(record.account_id, record.received_at, { places: record.items.length });
}

/** A place in a raw partition; -1 before the first one. */
export interface VerdictPosition {
  offset: number;
  index: number;
}

/** Verdicts come again after a crash of the normaliser, never out of order: what is at or below the last one taken is skipped. */
export function countVerdicts(deltas: BookDeltas, last: VerdictPosition, verdicts: readonly Verdict[]): VerdictPosition {
  let position = last;
  for (const { offset, index, account_id, received_at, verdict } of verdicts) {
    if (offset < position.offset || (offset === position.offset && index <= position.index)) continue;
    deltas.add(account_id, received_at, { [COLUMN_OF[verdict]]: 1 });
    position = { offset, index };
  }
  return position;
}

/** Gateways number their outcomes, and one gateway writes to one partition: an outcome that was published twice is counted once. */
export function countOutcome(deltas: BookDeltas, seen: Map<string, number>, outcome: IngestOutcome): void {
  if (outcome.sequence <= (seen.get(outcome.gateway) ?? -1)) return;
  seen.delete(outcome.gateway);
  seen.set(outcome.gateway, outcome.sequence);
  if (seen.size > MAX_GATEWAYS) for (const oldest of seen.keys()) if (seen.size > MAX_GATEWAYS) seen.delete(oldest);
  deltas.add(outcome.account_id, outcome.received_at, { rejected: outcome.rejected, duplicates_before: outcome.duplicate });
}

/** Gateway processes that are remembered: each restart is a new one, and a spool is emptied long before this many restarts. */
const MAX_GATEWAYS = 2000;
