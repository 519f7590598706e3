import {
  comparePartitionPositions,
  BEFORE_FIRST,
  type PartitionPosition,
} from '../../schemas/log-position.ts';

/**
 * What decides an insert: the records `first..last` of the topic without the rows at or below
 * `before`. Nothing else does, so it can be repeated byte for byte.
 */
export interface Range {
  first: number;
  last: number;
  before: PartitionPosition;
  /** The last place taken once the range is stored. */
  end: PartitionPosition;
}

/** What is known of one record without decoding its rows. */
export type Entry = { offset: number; bytes: number } & (
  | {
      kind: 'run';
      fingerprint: string;
      first: PartitionPosition;
      last: PartitionPosition;
      rows: number;
    }
  | { kind: 'unreadable' }
);

/** Where a partition stands. */
export interface PartitionState {
  /** The next record to take. */
  next: number | undefined;
  /** The last place taken; rows at or below it are skipped. */
  taken: PartitionPosition;
  /**
   * A range that a previous owner recorded and whose insert may have happened, wholly, in part or
   * not at all.
   */
  unsettled: Range | undefined;
}

export interface Limits {
  rows: number;
  bytes: number;
}

/**
 * One record's part in an insert: its rows above `above`; undefined takes them all, without
 * decoding.
 */
export interface Piece {
  offset: number;
  above: PartitionPosition | undefined;
}

export type Action =
  /** Record the range, then insert the pieces. `repeat`: somebody may have inserted them before. */
  | { kind: 'store'; range: Range; pieces: Piece[]; repeat: boolean }
  /** The record cannot be read: it goes to events.dead. */
  | { kind: 'bury'; offset: number };

export interface Planned {
  actions: Action[];
  /** Where the partition stands after the actions. */
  standing: PartitionState;
  /** Entries from this position on wait for the rest of the unsettled range. */
  used: number;
}

/**
 * Decides what is done with the records at hand. A batch is as large as the limits allow and ends
 * where the row schema changes; what was taken before is left out, in whole records without looking
 * inside. An unsettled range comes first and alone: it is complete once a record at or behind its
 * end is at hand.
 */
export function plan(standing: PartitionState, entries: readonly Entry[], limits: Limits): Planned {
  const actions: Action[] = [];
  let { taken } = standing;
  let position = 0;
  const { unsettled } = standing;
  if (unsettled) {
    const arrived = entries.at(-1);
    if (!arrived || arrived.offset < unsettled.last) return { actions, standing, used: 0 };
    const end = entries.findIndex(({ offset }) => offset > unsettled.last);
    position = end < 0 ? entries.length : end;
    const inside = entries.slice(0, position).filter(({ offset }) => offset >= unsettled.first);
    actions.push(...repeated(unsettled, inside));
    taken = unsettled.end;
  }
  while (position < entries.length) {
    const batch = nextBatch({ entries, from: position, taken, limits });
    actions.push(...batch.actions);
    taken = batch.taken;
    position = batch.until;
  }
  const last = entries.at(-1);
  return {
    actions,
    standing: { next: last ? last.offset + 1 : standing.next, taken, unsettled: undefined },
    used: entries.length,
  };
}

function repeated(range: Range, entries: readonly Entry[]): Action[] {
  const { actions, pieces } = collect(entries, range.before);
  return pieces.length === 0
    ? actions
    : [...actions, { kind: 'store', range, pieces, repeat: true }];
}

interface Cursor {
  entries: readonly Entry[];
  from: number;
  taken: PartitionPosition;
  limits: Limits;
}

function nextBatch({ entries, from, taken, limits }: Cursor): {
  actions: Action[];
  taken: PartitionPosition;
  until: number;
} {
  let until = from;
  let rows = 0;
  let bytes = 0;
  let fingerprint: string | undefined;
  let high = taken;
  for (; until < entries.length; until++) {
    const entry = entries[until];
    if (entry?.kind !== 'run' || comparePartitionPositions(entry.last, high) <= 0) continue;
    const fits =
      rows + entry.rows <= limits.rows &&
      bytes + entry.bytes <= limits.bytes &&
      entry.fingerprint === (fingerprint ?? entry.fingerprint);
    if (!fits && rows > 0) break;
    fingerprint = entry.fingerprint;
    rows += entry.rows;
    bytes += entry.bytes;
    high = entry.last;
  }
  const batch = entries.slice(from, until);
  const { actions, pieces, end } = collect(batch, taken);
  const [first, last] = [batch[0], batch.at(-1)];
  if (pieces.length > 0 && first && last) {
    const range = { first: first.offset, last: last.offset, before: taken, end };
    actions.push({ kind: 'store', range, pieces, repeat: false });
  }
  return { actions, taken: end, until };
}

/** The pieces of consecutive records above a mark, and what must be buried among them. */
function collect(
  entries: readonly Entry[],
  before: PartitionPosition,
): { actions: Action[]; pieces: Piece[]; end: PartitionPosition } {
  const actions: Action[] = [];
  const pieces: Piece[] = [];
  let end = before;
  for (const entry of entries) {
    if (entry.kind === 'unreadable') {
      actions.push({ kind: 'bury', offset: entry.offset });
      continue;
    }
    if (comparePartitionPositions(entry.last, end) <= 0) continue;
    pieces.push({
      offset: entry.offset,
      above: comparePartitionPositions(entry.first, end) <= 0 ? end : undefined,
    });
    end = entry.last;
  }
  return { actions, pieces, end };
}

/**
 * Where a new owner begins: `recorded` is the range that the last owner recorded, `committed` the
 * group's offset in Kafka. Everything before a recorded range is settled (a range is recorded only
 * after the one before it), so a lost commit costs nothing; the range itself is repeated unless the
 * offset has passed it.
 */
export function takeOver(
  recorded: Range | undefined,
  committed: number | undefined,
): PartitionState {
  if (!recorded) return { next: committed, taken: BEFORE_FIRST, unsettled: undefined };
  if (committed !== undefined && committed > recorded.last)
    return { next: committed, taken: recorded.end, unsettled: undefined };
  return { next: recorded.first, taken: recorded.before, unsettled: recorded };
}

/** The deduplication token of a range (DESIGN.md, "Exactly once into ClickHouse"). */
export function tokenOf(options: { topic: string; partition: number; range: Range }): string {
  return `${options.topic}-${options.partition}-${options.range.first}-${options.range.last}`;
}
