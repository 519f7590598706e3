import type { ClaimResolution } from '../../events/claims/resolution.ts';
import type { EventRow, VerdictKind } from '../../schemas/records.ts';
import type { ItemDecision } from '../../events/raw/decide.ts';

/**
 * Events of a part by what became of them. `replayed`: published once more after a crash; the
 * attempt before may have published them already.
 */
export interface OutcomeCounts {
  published: number;
  replayed: number;
  duplicate: number;
  repeat: number;
  dead: number;
}

export const OUTCOMES: readonly (keyof OutcomeCounts)[] = [
  'published',
  'replayed',
  'duplicate',
  'repeat',
  'dead',
];

export function noOutcomes(): OutcomeCounts {
  return { published: 0, replayed: 0, duplicate: 0, repeat: 0, dead: 0 };
}

export function outcomeOf(step: ItemDecision, settlement: ClaimResolution): keyof OutcomeCounts {
  switch (step.step) {
    case 'ok':
      return settlement.verdict === 'replay' ? 'replayed' : 'published';
    case 'drop':
      return step.why;
    case 'dead':
      return 'dead';
  }
}

/** Events leave 400 days after their own timestamp (ingest 2.4), ms. */
const KEPT = 400 * 86_400_000;

/**
 * What the books are told of an event, beside that it is in the raw log; undefined for one that
 * will be a row in ClickHouse. `now` in ms.
 */
export function verdictOf(step: ItemDecision, now: number): VerdictKind | undefined {
  switch (step.step) {
    case 'ok':
      return isBornExpired(step.row, now) ? 'expired' : undefined;
    case 'drop':
      return step.why;
    case 'dead':
      return 'dead';
  }
}

/** ClickHouse drops such a row while it is inserted. */
function isBornExpired(row: EventRow, now: number): boolean {
  return row.timestamp + KEPT <= now;
}
