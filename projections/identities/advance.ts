import { compareWriteOrder } from '../../events/write-order.ts';
import type { AliasFact, AliasOutcome } from './alias-fact.ts';

/** What is known of a name that some fact mentions. */
export interface NameRow {
  name: string;
  canonical: string;
  /** The fact that joined it to another name. */
  via: AliasFact | undefined;
}

export interface Advance {
  /** Rows that are new or changed. */
  rows: ReadonlyMap<string, NameRow>;
  /** Facts that are settled by these rows. */
  settled: readonly AliasFact[];
  /** Facts that change what older facts meant: their people must be computed anew. */
  hard: readonly AliasFact[];
  outcomes: ReadonlyMap<AliasFact, AliasOutcome>;
}

/**
 * Takes in facts that need no look at other facts, wherever they belong in the order (IDENTITIES.md
 * says why this is exact): one whose previous_id is joined by an earlier fact changes nothing; one
 * whose previous_id no fact ever mentioned hangs a new leaf onto a person.
 */
export function advance(
  facts: readonly AliasFact[],
  stored: ReadonlyMap<string, NameRow>,
): Advance {
  const rows = new Map<string, NameRow>();
  const settled: AliasFact[] = [];
  const hard: AliasFact[] = [];
  const outcomes = new Map<AliasFact, AliasOutcome>();
  const rowOf = (name: string) => rows.get(name) ?? stored.get(name);
  const mention = (name: string): NameRow => {
    const known = rowOf(name);
    if (known) return known;
    const row = { name, canonical: name, via: undefined };
    rows.set(name, row);
    return row;
  };
  for (const fact of facts) {
    const before = rowOf(fact.previousId);
    if (before && !(before.via && compareWriteOrder(before.via.at, fact.at) < 0)) {
      hard.push(fact);
      continue;
    }
    const { canonical } = mention(fact.userId);
    settled.push(fact);
    if (before) outcomes.set(fact, canonical === before.canonical ? 'same' : 'refused');
    else {
      rows.set(fact.previousId, { name: fact.previousId, canonical, via: fact });
      outcomes.set(fact, 'joined');
    }
  }
  return { rows, settled, hard, outcomes };
}
