import type { VerdictKind } from '../../schemas/records.ts';

/** What a replay does with one event of its range (docs/replay.md, "Verdicts"). */
export type ReplayVerdict =
  /** No row is stored at its position, and none with its dedupe key: the row is added. */
  | 'new'
  | 'stored'
  /** Stored, and this version normalises it to a different row: reported only. */
  | 'would_change'
  /** Beyond the retention of its account, or 400 days old. */
  | 'expired'
  /** The same event is, or was, stored at another position. */
  | 'duplicate'
  /** It has a dead letter, or this version cannot process it: `./ravand dlq` decides about it. */
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
  /** A row is stored at this position. */
  stored: boolean;
  /** The stored row differs from the row that this version produces. */
  differs: boolean;
  /** Verdict of the normaliser; undefined for a row, and for positions older than the verdicts. */
  verdict: VerdictKind | undefined;
  /** A row with the same dedupe key is stored at another position, within the window. */
  storedElsewhere: boolean;
  expired: boolean;
  /** Its dead letter waits for a redrive, which alone brings the event back. */
  waits: boolean;
  /** This version normalises the event to a row. */
  processable: boolean;
}

/** Stored rows come first: no claim and no earlier verdict revokes them (ARCHITECTURE.md, G7). */
export function decideReplay(evidence: ReplayEvidence): ReplayVerdict {
  if (!evidence.processable) return evidence.stored ? 'stored' : 'dead';
  if (evidence.stored) return evidence.differs ? 'would_change' : 'stored';
  if (evidence.verdict === 'duplicate' || evidence.verdict === 'repeat' || evidence.storedElsewhere)
    return 'duplicate';
  if (evidence.verdict === 'dead' || evidence.waits) return 'dead';
  if (evidence.expired) return 'expired';
  return 'new';
}

export interface RebuildEvidence {
  verdict: VerdictKind | undefined;
  /** The key was seen within the window; only checked before the first verdict. */
  seenBefore: boolean;
  /** The normaliser rejected the event; a replay of an earlier release added its row. */
  addedByReplay: boolean;
  processable: boolean;
}

/** Whether an event of the log becomes a row of the rebuilt table. */
export function decideRebuild({
  verdict,
  seenBefore,
  addedByReplay,
  processable,
}: RebuildEvidence): 'row' | 'duplicate' | 'dead' {
  if (!processable) return 'dead';
  if (verdict === 'duplicate' || verdict === 'repeat' || seenBefore) return 'duplicate';
  return verdict === 'dead' && !addedByReplay ? 'dead' : 'row';
}
