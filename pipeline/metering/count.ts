import { rowBatchCodec } from '../../schemas/codec.ts';
import type {
  DeadLetter,
  IngestOutcome,
  RawRecord,
  Verdict,
  VerdictKind,
} from '../../schemas/records.ts';

const MINUTE = 60_000;

/** What is added to the books of one account and minute. */
export interface MinuteDelta {
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

export const COUNTS = [
  'places',
  'repeats',
  'duplicates_after',
  'dead',
  'expired',
  'duplicates_before',
  'rejected',
] as const;
type Counts = Pick<MinuteDelta, (typeof COUNTS)[number]>;

const COLUMN_OF: Record<VerdictKind, keyof Counts> = {
  duplicate: 'duplicates_after',
  repeat: 'repeats',
  dead: 'dead',
  expired: 'expired',
};

/** Adds up counts by account and minute. */
export class MinuteDeltas {
  readonly #byKey = new Map<string, MinuteDelta>();

  add(accountId: number, receivedAt: number, counts: Partial<Counts>): void {
    const minute = Math.floor(receivedAt / MINUTE) * MINUTE;
    const key = `${accountId} ${minute}`;
    let delta = this.#byKey.get(key);
    if (!delta) {
      delta = {
        account_id: accountId,
        minute,
        places: 0,
        repeats: 0,
        duplicates_after: 0,
        dead: 0,
        expired: 0,
        duplicates_before: 0,
        rejected: 0,
      };
      this.#byKey.set(key, delta);
    }
    for (const name of COUNTS) delta[name] += counts[name] ?? 0;
  }

  all(): MinuteDelta[] {
    return [...this.#byKey.values()];
  }
}

/**
 * A raw record: each of its items is a place in the log. A redriven dead letter is no new
 * acceptance: its old place is counted already, and is dead no more. `redriven` holds the old
 * places that were redriven lately: a letter that went in twice (a redrive was killed) was dead
 * once, and the normaliser counts the second time as a repeat.
 */
export function countRaw(deltas: MinuteDeltas, record: RawRecord, redriven: Set<string>): void {
  const { account_id: account, received_at: at, items, redriven_from: from } = record;
  const places = items.length;
  if (from === null || isKnown(redriven, `${from.epoch}/${from.offset}/${from.index}`))
    deltas.add(account, at, { places });
  else deltas.add(account, at, { places, repeats: places, dead: -places });
}

/** Remembers a key, the newest ones only; true when it was there. */
function isKnown(keys: Set<string>, key: string): boolean {
  if (keys.has(key)) return true;
  keys.add(key);
  if (keys.size > MAX_REDRIVEN)
    for (const oldest of keys) if (keys.size > MAX_REDRIVEN) keys.delete(oldest);
  return false;
}

/**
 * Redrives that are remembered of a partition: a killed one is taken up again at the next redrive
 * of its group.
 */
const MAX_REDRIVEN = 500;

/**
 * A letter of the sink: ClickHouse refuses the row, so it will never be stored. Letters of the
 * normaliser are counted by its verdicts. A letter that cannot be attributed (a whole record) is
 * not counted: the gap that it leaves shows that the log is damaged. `last`: the last letter
 * counted of each partition of the log; the sink writes them in order, and again after a crash.
 */
export function countDeadLetter(
  deltas: MinuteDeltas,
  last: Map<string, VerdictPosition>,
  letter: DeadLetter,
): void {
  const { stage, topic, partition, offset, index, account_id: account } = letter;
  if (stage !== 'project' || index === null || account === null) return;
  const key = `${topic}/${partition}`;
  const before = last.get(key);
  if (before && (offset < before.offset || (offset === before.offset && index <= before.index)))
    return;
  const row = rowBatchCodec.decode(letter.value).rows[0];
  if (row) deltas.add(account, row.received_at, { dead: 1 });
  last.set(key, { offset, index });
}

/** A place in a raw partition; -1 before the first one. */
export interface VerdictPosition {
  offset: number;
  index: number;
}

/**
 * Verdicts come again after a crash of the normaliser, never out of order: what is at or below the
 * last one taken is skipped.
 */
export function countVerdicts(
  deltas: MinuteDeltas,
  last: VerdictPosition,
  verdicts: readonly Verdict[],
): VerdictPosition {
  let position = last;
  for (const { offset, index, account_id, received_at, verdict } of verdicts) {
    if (offset < position.offset || (offset === position.offset && index <= position.index))
      continue;
    deltas.add(account_id, received_at, { [COLUMN_OF[verdict]]: 1 });
    position = { offset, index };
  }
  return position;
}

/**
 * Gateways number their outcomes, and one gateway writes to one partition: an outcome that was
 * published twice is counted once.
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

/**
 * Gateway processes that are remembered: each restart is a new one, and a spool is emptied long
 * before this many restarts.
 */
const MAX_GATEWAYS = 2000;
