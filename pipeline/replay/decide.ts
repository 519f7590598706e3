import type { VerdictKind } from '../../schemas/records.ts';

/** What a replay does with one event of its range (docs/replay.md, "Verdicts"). */
export type ReplayVerdict =
  /** No row stands at its place, and none of its dedupe key: the row is added. */
  | 'new'
  | 'stored'
  /** Stored, and today's normalisation gives another row: reported only. */
  | 'would_change'
  /** Older than its account keeps events, or than 400 days. */
  | 'expired'
  /** The same event stands, or stood, at another place. */
  | 'duplicate'
  /** It cannot be processed today either. */
  | 'dead';

export const REPLAY_VERDICTS: readonly ReplayVerdict[] = [
  'new',
  'stored',
  'would_change',
  'expired',
  'duplicate',
  'dead',
];

export interface ReplayEvidence {
  /** A row stands at this very place. */
  stored: boolean;
  /** It stands there and differs from the row of today. */
  differs: boolean;
  /**
   * What the normaliser said of the place when it took it; undefined: a row, or the verdicts do not
   * reach back so far.
   */
  verdict: VerdictKind | undefined;
  /** A row of the same dedupe key stands at another place within the window. */
  storedElsewhere: boolean;
  expired: boolean;
  /** Today's normalisation gives a row. */
  processable: boolean;
}

/**
 * Stored rows come first: what they say no claim and no verdict of the past can take back
 * (DESIGN.md, "Replay").
 */
export function decideReplay(evidence: ReplayEvidence): ReplayVerdict {
  if (!evidence.processable) return evidence.stored ? 'stored' : 'dead';
  if (evidence.stored) return evidence.differs ? 'would_change' : 'stored';
  if (evidence.verdict === 'duplicate' || evidence.verdict === 'repeat' || evidence.storedElsewhere)
    return 'duplicate';
  if (evidence.expired) return 'expired';
  return 'new';
}

export interface RebuildEvidence {
  verdict: VerdictKind | undefined;
  /**
   * The pass over the log met the same dedupe key before, within the window; asked only where no
   * verdict reaches.
   */
  seenBefore: boolean;
  /**
   * The place was dead when it was taken, and a replay has added it since: its row is in the live
   * table.
   */
  addedByReplay: boolean;
  processable: boolean;
}

/** Whether an event of the log becomes a row of a rebuilt table. */
export function decideRebuild({
  verdict: said,
  seenBefore,
  addedByReplay: added,
  processable,
}: RebuildEvidence): 'row' | 'duplicate' | 'dead' {
  if (!processable) return 'dead';
  if (said === 'duplicate' || said === 'repeat' || seenBefore) return 'duplicate';
  return said === 'dead' && !added ? 'dead' : 'row';
}
