import { readMarker, type LayoutMarker } from '../../events/raw/layout-marker.ts';
import type { ClaimResolution, ClaimToResolve } from '../../events/claims/resolution.ts';
import type { DecodeResult } from '../../events/raw/decode-record.ts';
import { forwardedRecord, misplacedItems, splitRecord } from '../../events/raw/split-record.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import type { OutgoingRecord } from '../../platform/kafka/producer.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';

/** The layout of one partition of events.raw. */
export interface Placement {
  /** Whether the log has ever had another number of partitions. */
  hasGrown(): boolean;
  /** By how many partitions the record at this offset had to be split. */
  partitionsAt(offset: number): number;
  /** Resolves when the layout behind the mark is known. Rejects when the signal aborts. */
  passMark(marker: LayoutMarker, signal: AbortSignal): Promise<void>;
}

/** Consecutive messages within one layout; `marker` precedes them. */
interface Part {
  marker: LayoutMarker | undefined;
  messages: readonly ConsumedMessage[];
}

/** Splits messages so that a mark of `./ravand log grow` begins a part. */
export function splitAtMarks(messages: readonly ConsumedMessage[]): Part[] {
  const parts: Part[] = [];
  let first = 0;
  let marker: LayoutMarker | undefined;
  for (const [at, message] of messages.entries()) {
    if (message.key === null) continue;
    const found = readMarker(message);
    if (!found) continue;
    if (at > first) parts.push({ marker, messages: messages.slice(first, at) });
    [first, marker] = [at, found];
  }
  parts.push({ marker, messages: first === 0 ? messages : messages.slice(first) });
  return parts;
}

/** Items by record that must be forwarded to the partition of their person. */
export type Misplaced = ReadonlyMap<DecodeResult, ReadonlySet<number>>;

const NONE: Misplaced = new Map();

/** What came by another number of partitions: from a gateway that was suspended during a growth. */
export function misplacedIn(
  records: readonly DecodeResult[],
  placement: Placement | undefined,
): Misplaced {
  if (!placement?.hasGrown()) return NONE;
  let found: Map<DecodeResult, ReadonlySet<number>> | undefined;
  for (const decoded of records) {
    if (decoded.state !== 'decoded') continue;
    const items = misplacedItems(decoded, placement.partitionsAt(decoded.source.offset));
    if (items) (found ??= new Map()).set(decoded, items);
  }
  return found ?? NONE;
}

/** The claims, and their indexes, that are resolved here: not those of forwarded items. */
export function claimsHere<Claim extends ClaimToResolve>(
  claims: readonly Claim[],
  { records, misplaced }: { records: readonly DecodeResult[]; misplaced: Misplaced },
): { claims: readonly Claim[]; complete: Complete } {
  if (misplaced.size === 0) return { claims, complete: (resolutions) => resolutions };
  const isForwarded = records.flatMap((decoded) => {
    if (decoded.state !== 'decoded') return [];
    const items = misplaced.get(decoded);
    return decoded.record.items.map((_, index) => items?.has(index) === true);
  });
  return {
    claims: claims.filter((_, at) => !isForwarded[at]),
    complete: (resolutions) => {
      let next = 0;
      return claims.map(({ position }, at): ClaimResolution => {
        // The same acceptance at another position: it is counted and stored there.
        if (isForwarded[at]) return { verdict: 'repeat', position };
        const resolution = resolutions[next++];
        if (!resolution) throw new Error('fewer claims were resolved than were asked for');
        return resolution;
      });
    },
  };
}

/** Adds the resolutions of forwarded items. */
type Complete = (resolutions: readonly ClaimResolution[]) => readonly ClaimResolution[];

/** The records that carry misplaced items to their partitions. */
export function* forwards(
  records: readonly DecodeResult[],
  of: { misplaced: Misplaced; placement: Placement | undefined; topic: string },
): Iterable<OutgoingRecord> {
  const { misplaced, placement, topic } = of;
  if (misplaced.size === 0 || !placement) return;
  for (const decoded of records) {
    const only = misplaced.get(decoded);
    if (!only || decoded.state !== 'decoded') continue;
    const partitions = placement.partitionsAt(decoded.source.offset);
    for (const { partition, record } of splitRecord(decoded, { partitions, only }))
      yield {
        topic,
        partition,
        key: null,
        value: rawRecordCodec.encode(forwardedRecord(record)),
      };
  }
}
