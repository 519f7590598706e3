import type { NameRow } from './advance.ts';
import { compareFacts, factKey, type AliasFact, type AliasOutcome } from './alias-fact.ts';
import { resolve } from './resolve.ts';

/**
 * People as they are stored, whole: every name of theirs, with every fact of these names that was
 * not undone.
 */
export interface People {
  rows: ReadonlyMap<string, NameRow>;
  facts: readonly AliasFact[];
}

export type Recomputed =
  /** Rows that are new or changed, and what became of the added facts. */
  | {
      kind: 'done';
      rows: ReadonlyMap<string, NameRow>;
      outcomes: ReadonlyMap<AliasFact, AliasOutcome>;
    }
  /** People that must be looked at too, by one of their names. */
  | { kind: 'needs'; names: ReadonlySet<string> };

/**
 * Computes people anew from their facts and those that are added. Facts in `people` may be there
 * again in `added`.
 */
export function recompute(people: People, added: readonly AliasFact[]): Recomputed {
  const facts = [
    ...new Map([...people.facts, ...added].map((fact) => [factKey(fact), fact])).values(),
  ];
  const atHand = new Set([
    ...people.rows.keys(),
    ...added.flatMap(({ previousId, userId }) => [previousId, userId]),
  ]);
  const resolution = resolve(facts, (name) => atHand.has(name));
  if (resolution.kind === 'needs') return resolution;
  const { joins, canonicalOf } = resolution;
  const rows = new Map<string, NameRow>();
  for (const name of atHand) {
    const row: NameRow = { name, canonical: canonicalOf(name), via: joins.get(name) };
    if (!isSame(row, people.rows.get(name))) rows.set(name, row);
  }
  const outcomeOf = (fact: AliasFact): AliasOutcome => {
    const joined = joins.get(fact.previousId);
    if (joined && compareFacts(joined, fact) === 0) return 'joined';
    return canonicalOf(fact.previousId) === canonicalOf(fact.userId) ? 'same' : 'refused';
  };
  return { kind: 'done', rows, outcomes: new Map(added.map((fact) => [fact, outcomeOf(fact)])) };
}

function isSame(a: NameRow, b: NameRow | undefined): boolean {
  if (b?.canonical !== a.canonical) return false;
  return a.via === undefined || b.via === undefined
    ? a.via === b.via
    : compareFacts(a.via, b.via) === 0;
}
