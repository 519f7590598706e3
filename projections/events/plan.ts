import { epochAt, type EpochStart } from '../../platform/log/epochs.ts';
import {
  BEFORE_FIRST,
  comparePartitionPositions,
  type PartitionPosition,
} from '../../schemas/log-position.ts';

/**
 * Determines an insert completely, so that it can be repeated byte for byte: the records
 * `first..last` of the topic without the rows at or below `before`.
 */
export interface RecordRange {
  /** Epoch of the topic's partition: it says to which records the offsets refer. */
  epoch: number;
  first: number;
  last: number;
  before: PartitionPosition;
  /** The high watermark once the range is stored. */
  end: PartitionPosition;
}

/** A record of the topic, without its rows. */
export type RecordSummary = { offset: number; bytes: number } & (
  | {
      kind: 'rows';
      fingerprint: string;
      first: PartitionPosition;
      last: PartitionPosition;
      rows: number;
    }
  | { kind: 'unreadable' }
);

export interface PartitionState {
  /** Offset of the next record to process. */
  next: number | undefined;
  /** The last position that was processed; rows at or below it are skipped. */
  highWatermark: PartitionPosition;
  /** A range of a former owner that may be stored completely, in part or not at all. */
  uncertain: RecordRange | undefined;
  /**
   * Rows up to here may be stored by a range whose records are no longer in the log: they are read
   * back before they are inserted.
   */
  unsure: PartitionPosition;
  /** Epochs of the partition. */
  epochs: readonly EpochStart[];
}

/** What the former owner recorded. */
export interface RecordedState {
  range: RecordRange | undefined;
  unsure: PartitionPosition;
}

export interface InsertLimits {
  rows: number;
  bytes: number;
}

/** The rows of one record above `above`; undefined: all of them, without decoding. */
export interface RecordSlice {
  offset: number;
  above: PartitionPosition | undefined;
}

export type Action =
  /** Record the range, then insert the slices. `repeat`: a former owner may have inserted them. */
  | { kind: 'store'; range: RecordRange; slices: RecordSlice[]; repeat: boolean }
  /** Send a record that cannot be decoded to events.dead. */
  | { kind: 'deadLetter'; offset: number };

export interface SinkPlan {
  actions: Action[];
  /** State of the partition after the actions. */
  state: PartitionState;
  /** Records that the actions cover; the rest waits for the end of the uncertain range. */
  used: number;
}

/**
 * Decides what to do with consecutive records of one partition. An insert is as large as the limits
 * allow and ends where the row schema changes; rows below the high watermark are left out. An
 * uncertain range comes first and alone: it is complete once a record at or after its end arrived.
 */
export function plan(
  state: PartitionState,
  records: readonly RecordSummary[],
  limits: InsertLimits,
): SinkPlan {
  const actions: Action[] = [];
  const { uncertain, unsure, epochs } = state;
  let { highWatermark } = state;
  let used = 0;
  if (uncertain) {
    const newest = records.at(-1);
    if (!newest || newest.offset < uncertain.last) return { actions, state, used: 0 };
    const after = records.findIndex(({ offset }) => offset > uncertain.last);
    used = after < 0 ? records.length : after;
    const inside = records.slice(0, used).filter(({ offset }) => offset >= uncertain.first);
    actions.push(...repeatRange(uncertain, inside));
    highWatermark = uncertain.end;
  }
  while (used < records.length) {
    const next = nextInsert({ records, from: used, highWatermark, limits, unsure, epochs });
    actions.push(...next.actions);
    highWatermark = next.highWatermark;
    used = next.until;
  }
  const last = records.at(-1);
  return {
    actions,
    state: {
      ...{ unsure, epochs, highWatermark, uncertain: undefined },
      next: last ? last.offset + 1 : state.next,
    },
    used,
  };
}

function repeatRange(range: RecordRange, records: readonly RecordSummary[]): Action[] {
  const { actions, slices } = sliceRecords(records, range.before);
  return slices.length === 0
    ? actions
    : [...actions, { kind: 'store', range, slices, repeat: true }];
}

interface Cursor {
  records: readonly RecordSummary[];
  from: number;
  highWatermark: PartitionPosition;
  limits: InsertLimits;
  unsure: PartitionPosition;
  epochs: readonly EpochStart[];
}

function nextInsert({ records, from, highWatermark, limits, unsure, epochs }: Cursor): {
  actions: Action[];
  highWatermark: PartitionPosition;
  until: number;
} {
  let until = from;
  let rows = 0;
  let bytes = 0;
  let fingerprint: string | undefined;
  let end = highWatermark;
  for (; until < records.length; until++) {
    const record = records[until];
    if (record?.kind !== 'rows' || comparePartitionPositions(record.last, end) <= 0) continue;
    const fits =
      rows + record.rows <= limits.rows &&
      bytes + record.bytes <= limits.bytes &&
      record.fingerprint === (fingerprint ?? record.fingerprint);
    if (!fits && rows > 0) break;
    fingerprint = record.fingerprint;
    rows += record.rows;
    bytes += record.bytes;
    end = record.last;
  }
  const covered = records.slice(from, until);
  const { actions, slices } = sliceRecords(covered, highWatermark);
  const [first, last] = [covered[0], covered.at(-1)];
  if (slices.length > 0 && first && last) {
    const epoch = epochAt(epochs, last.offset);
    const range = { epoch, first: first.offset, last: last.offset, before: highWatermark, end };
    const repeat = comparePartitionPositions(highWatermark, unsure) < 0;
    actions.push({ kind: 'store', range, slices, repeat });
  }
  return { actions, highWatermark: end, until };
}

/** The slices of consecutive records above a position, and a dead letter per unreadable record. */
function sliceRecords(
  records: readonly RecordSummary[],
  before: PartitionPosition,
): { actions: Action[]; slices: RecordSlice[] } {
  const actions: Action[] = [];
  const slices: RecordSlice[] = [];
  let end = before;
  for (const record of records) {
    if (record.kind === 'unreadable') {
      actions.push({ kind: 'deadLetter', offset: record.offset });
      continue;
    }
    if (comparePartitionPositions(record.last, end) <= 0) continue;
    slices.push({
      offset: record.offset,
      above: comparePartitionPositions(record.first, end) <= 0 ? end : undefined,
    });
    end = record.last;
  }
  return { actions, slices };
}

/**
 * Where a new owner resumes. `recorded` is the range that the former owner recorded last,
 * `committed` the group's offset in Kafka. A range is recorded only after the previous one is
 * complete, so a lost commit is harmless; the recorded range is repeated unless the committed
 * offset is past it. A range of an earlier epoch cannot be repeated: its rows that are still
 * published, now or later, are read back.
 */
export function resume(
  { range, unsure }: RecordedState,
  committed: number | undefined,
  epochs: readonly EpochStart[],
): PartitionState {
  const common = { uncertain: undefined, unsure, epochs };
  if (!range) return { ...common, next: committed, highWatermark: BEFORE_FIRST };
  if (isStale(range, epochs))
    return {
      ...common,
      next: committed === undefined ? undefined : Math.min(committed, range.first),
      highWatermark: range.before,
      unsure: comparePartitionPositions(unsure, range.end) < 0 ? range.end : unsure,
    };
  if (committed !== undefined && committed > range.last)
    return { ...common, next: committed, highWatermark: range.end };
  return { ...common, next: range.first, highWatermark: range.before, uncertain: range };
}

/** The log went back: the offsets of the range refer to other records now, at least in part. */
export function isStale(range: RecordRange, epochs: readonly EpochStart[]): boolean {
  return epochAt(epochs, range.last) !== range.epoch;
}

/** The deduplication token of a range (EXACTLY-ONCE.md). */
export function insertToken(options: {
  topic: string;
  partition: number;
  range: RecordRange;
}): string {
  const { topic, partition, range } = options;
  const epoch = range.epoch === 0 ? '' : `e${range.epoch}-`;
  return `${topic}-${partition}-${epoch}${range.first}-${range.last}`;
}
