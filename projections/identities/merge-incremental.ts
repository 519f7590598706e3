import { compareWriteOrder } from '../../events/write-order.ts';
import type { AliasFact, AliasOutcome, IdentityRow } from './alias-fact.ts';

export interface IncrementalMerge {
  /** Rows that are new or changed. */
  rows: ReadonlyMap<string, IdentityRow>;
  /** Facts that these rows cover. */
  merged: readonly AliasFact[];
  /** Facts that may change the outcome of other facts: their people must be merged again. */
  dependent: readonly AliasFact[];
  outcomes: ReadonlyMap<AliasFact, AliasOutcome>;
}

/**
 * Merges the facts whose outcome depends on no other fact, at any point of the order
 * (IDENTITIES.md proves it). A fact whose previous_id an earlier fact linked changes nothing; a
 * fact whose previous_id was never mentioned adds a leaf to the tree of its user_id.
 */
export function mergeIncrementally(
  facts: readonly AliasFact[],
  stored: ReadonlyMap<string, IdentityRow>,
): IncrementalMerge {
  const rows = new Map<string, IdentityRow>();
  const merged: AliasFact[] = [];
  const dependent: AliasFact[] = [];
  const outcomes = new Map<AliasFact, AliasOutcome>();
  const rowOf = (distinctId: string) => rows.get(distinctId) ?? stored.get(distinctId);
  const rowOrNewRoot = (distinctId: string): IdentityRow => {
    const known = rowOf(distinctId);
    if (known) return known;
    const root = { distinctId, canonicalId: distinctId, parent: undefined };
    rows.set(distinctId, root);
    return root;
  };
  for (const fact of facts) {
    const { previousId, userId, order } = fact;
    const known = rowOf(previousId);
    if (known && !(known.parent && compareWriteOrder(known.parent.order, order) < 0)) {
      dependent.push(fact);
      continue;
    }
    const { canonicalId } = rowOrNewRoot(userId);
    merged.push(fact);
    if (known) outcomes.set(fact, canonicalId === known.canonicalId ? 'same' : 'refused');
    else {
      rows.set(previousId, { distinctId: previousId, canonicalId, parent: fact });
      outcomes.set(fact, 'joined');
    }
  }
  return { rows, merged, dependent, outcomes };
}
