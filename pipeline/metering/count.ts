import { isForwarded } from '../../events/raw/split-record.ts';
import { COUNTS } from '../../platform/meters/book-counts.ts';
import { newerRelease, rowBatchCodec } from '../../schemas/codec.ts';
import { comparePartitionPositions, type PartitionPosition } from '../../schemas/log-position.ts';
import type { RawCounts } from '../../schemas/raw-reader.ts';
import type { DeadLetter, IngestOutcome, Verdict, VerdictKind } from '../../schemas/records.ts';

const MINUTE = 60_000;

/** Counts to add to one account and minute. */
export interface MinuteDelta extends BookedCounts {
  account_id: number;
  /** Start of the minute of reception, ms since the epoch. */
  minute: number;
}

/**
 * What a minute has of its own beside COUNTS. unbilled: of `places`, events that the platform wrote
 * itself.
 */
export const BOOKED = [...COUNTS, 'unbilled'] as const;
type Counts = Record<(typeof COUNTS)[number], number>;
type BookedCounts = Record<(typeof BOOKED)[number], number>;
const NO_COUNTS = Object.fromEntries(BOOKED.map((name) => [name, 0])) as BookedCounts;

const COLUMN_OF: Record<VerdictKind, keyof Counts> = {
  duplicate: 'duplicates_after',
  repeat: 'repeats',
  dead: 'dead',
  expired: 'expired',
};

/** Adds up counts by account and minute. */
export class MinuteDeltas {
  readonly #byKey = new Map<string, MinuteDelta>();

  add(accountId: number, receivedAt: number, counts: Partial<BookedCounts>): void {
    const minute = Math.floor(receivedAt / MINUTE) * MINUTE;
    const key = `${accountId} ${minute}`;
    let delta = this.#byKey.get(key);
    if (!delta) {
      delta = { account_id: accountId, minute, ...NO_COUNTS };
      this.#byKey.set(key, delta);
    }
    for (const name of BOOKED) delta[name] += counts[name] ?? 0;
  }

  all(): MinuteDelta[] {
    return [...this.#byKey.values()];
  }
}

/**
 * Counts a raw record: each item is a position in the log. A redriven dead letter is not a new
 * acceptance: its original position is counted already, and is no longer dead. `redriven` contains
 * recently redriven positions: a dead letter that was redriven twice (the first redrive was killed)
 * was dead once, and the normaliser reports the second record as a repeat.
 */
export function countRaw(deltas: MinuteDeltas, record: RawCounts, redriven: Set<string>): void {
  const { account_id: account, received_at: at, items: places, redriven_from: from } = record;
  // Counted where the event was accepted: a copy of the record is a repeat, or was dead before.
  const unbilled =
    record.source === 'platform' && from === null && !isForwarded(record) ? places : 0;
  // A mark of the layout has no events.
  if (places === 0) return;
  // Of a forwarded record the normaliser reports the first copy as a repeat.
  if (
    from === null ||
    isForwarded(record) ||
    isKnown(redriven, `${from.epoch}/${from.offset}/${from.index}`)
  )
    deltas.add(account, at, { places, unbilled });
  else deltas.add(account, at, { places, repeats: places, dead: -places });
}

/** Adds a key and drops the oldest ones; true when the key was present. */
function isKnown(keys: Set<string>, key: string): boolean {
  if (keys.has(key)) return true;
  keys.add(key);
  if (keys.size > MAX_REDRIVEN)
    for (const oldest of keys) if (keys.size > MAX_REDRIVEN) keys.delete(oldest);
  return false;
}

/** Redriven positions remembered per partition, so that a killed redrive resumes. */
const MAX_REDRIVEN = 500;

/**
 * Counts a dead letter of the sink: ClickHouse rejected the row, so it will never be stored. Dead
 * letters of the normaliser are counted by their verdicts. A dead letter of a whole record is not
 * attributed to an account and not counted: the gap shows that the log is damaged. `last`: the last
 * counted dead letter per partition; the sink writes them in order, and repeats them after a crash.
 * `epochOf`: epoch of an offset of events.normalised when the dead letter was written.
 */
export function countDeadLetter(
  deltas: MinuteDeltas,
  last: Map<string, PartitionPosition>,
  deadLetter: DeadLetter,
  epochOf: (partition: number, offset: number) => number,
): void {
  const { stage, topic, partition, offset, index, account_id: account } = deadLetter;
  if (stage !== 'project' || index === null || account === null) return;
  const key = `${topic}/${partition}`;
  const before = last.get(key);
  const position = { epoch: epochOf(partition, offset), offset, index };
  if (before && comparePartitionPositions(position, before) <= 0) return;
  const row = rowBatchCodec.decode(deadLetter.value).rows[0];
  if (row) deltas.add(account, row.received_at, { dead: 1 });
  last.set(key, position);
}

/**
 * Counts verdicts. They are ordered, and repeated after a crash of the normaliser: verdicts up to
 * the last counted position are skipped. `epochOf`: epoch of an offset of events.raw when the
 * verdicts were written.
 */
export function countVerdicts(
  deltas: MinuteDeltas,
  last: PartitionPosition,
  verdicts: readonly Verdict[],
  epochOf: (offset: number) => number,
): PartitionPosition {
  let counted = last;
  for (const { offset, index, account_id, received_at, verdict } of verdicts) {
    const position = { epoch: epochOf(offset), offset, index };
    if (comparePartitionPositions(position, counted) <= 0) continue;
    const column = (COLUMN_OF as Partial<typeof COLUMN_OF>)[verdict];
    if (column === undefined) throw newerRelease(`the verdict ${verdict as string}`);
    deltas.add(account_id, received_at, { [column]: 1 });
    counted = position;
  }
  return counted;
}

/**
 * Counts an outcome. Gateways number their outcomes, and a gateway writes to one partition: an
 * outcome that was published twice is counted once.
 */
export function countOutcome(
  deltas: MinuteDeltas,
  seen: Map<string, number>,
  outcome: IngestOutcome,
): void {
  if (outcome.sequence <= (seen.get(outcome.gateway) ?? -1)) return;
  seen.delete(outcome.gateway);
  seen.set(outcome.gateway, outcome.sequence);
  if (seen.size > MAX_GATEWAYS)
    for (const oldest of seen.keys()) if (seen.size > MAX_GATEWAYS) seen.delete(oldest);
  deltas.add(outcome.account_id, outcome.received_at, {
    rejected: outcome.rejected,
    duplicates_before: outcome.duplicate,
  });
}

/** Gateway processes remembered per partition; a spool drains long before that many restarts. */
const MAX_GATEWAYS = 2000;
