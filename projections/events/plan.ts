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
  const { uncertain } = state;
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
    const next = nextInsert({ records, from: used, highWatermark, limits });
    actions.push(...next.actions);
    highWatermark = next.highWatermark;
    used = next.until;
  }
  const last = records.at(-1);
  return {
    actions,
    state: { next: last ? last.offset + 1 : state.next, highWatermark, uncertain: undefined },
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
}

function nextInsert({ records, from, highWatermark, limits }: Cursor): {
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
    const range = { first: first.offset, last: last.offset, before: highWatermark, end };
    actions.push({ kind: 'store', range, slices, repeat: false });
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
 * offset is past it.
 */
export function resume(
  recorded: RecordRange | undefined,
  committed: number | undefined,
): PartitionState {
  if (!recorded) return { next: committed, highWatermark: BEFORE_FIRST, uncertain: undefined };
  if (committed !== undefined && committed > recorded.last)
    return { next: committed, highWatermark: recorded.end, uncertain: undefined };
  return { next: recorded.first, highWatermark: recorded.before, uncertain: recorded };
}

/** The deduplication token of a range (EXACTLY-ONCE.md). */
export function insertToken(options: {
  topic: string;
  partition: number;
  range: RecordRange;
}): string {
  return `${options.topic}-${options.partition}-${options.range.first}-${options.range.last}`;
}
