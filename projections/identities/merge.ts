import {
  compareFacts,
  distinctIds,
  factKey,
  type AliasFact,
  type AliasOutcome,
  type IdentityRow,
} from './alias-fact.ts';

/** The fact that links each distinct id to its parent; a root has none. */
export type Parents = ReadonlyMap<string, AliasFact>;

export type MergeResult =
  | { kind: 'merged'; parents: Parents; canonicalOf: (distinctId: string) => string }
  /** Whether a fact closes a cycle depends on distinct ids that were not loaded. */
  | { kind: 'incomplete'; missing: ReadonlySet<string> };

/**
 * Union-find over aliases (reports: People): facts are applied in their order; the first fact of a
 * previous_id that closes no cycle links it to its user_id, once. The order of the argument does
 * not matter. `isLoaded`: every fact with that previous_id is among those given.
 */
export function mergeAliases(
  facts: readonly AliasFact[],
  isLoaded: (distinctId: string) => boolean = () => true,
): MergeResult {
  const parents = new Map<string, AliasFact>();
  const missing = new Set<string>();
  const undecided = new Set<string>();
  const canonicalOf = rootFinder(parents);
  for (const fact of facts.toSorted(compareFacts)) {
    const { previousId, userId } = fact;
    if (parents.has(previousId) || undecided.has(previousId)) continue;
    if (!isLoaded(userId)) {
      missing.add(userId);
      undecided.add(previousId);
    } else if (canonicalOf(userId) !== previousId) parents.set(previousId, fact);
  }
  return missing.size > 0
    ? { kind: 'incomplete', missing }
    : { kind: 'merged', parents, canonicalOf };
}

/** `find` with path compression: links are only added, so compressed paths stay valid. */
function rootFinder(parents: Parents): (distinctId: string) => string {
  const compressed = new Map<string, string>();
  const next = (distinctId: string) =>
    compressed.get(distinctId) ?? parents.get(distinctId)?.userId;
  return (distinctId) => {
    const path: string[] = [];
    let root = distinctId;
    for (let parent = next(root); parent !== undefined; parent = next(root)) {
      path.push(root);
      root = parent;
    }
    for (const one of path) compressed.set(one, root);
    return root;
  };
}

/** Complete people: all their distinct ids, with every fact of these ids that is not undone. */
export interface People {
  rows: ReadonlyMap<string, IdentityRow>;
  facts: readonly AliasFact[];
}

export type Remerged =
  | {
      kind: 'merged';
      /** Rows that are new or changed. */
      rows: ReadonlyMap<string, IdentityRow>;
      /** Outcomes of the added facts. */
      outcomes: ReadonlyMap<AliasFact, AliasOutcome>;
    }
  /** The people of these distinct ids must be loaded too. */
  | { kind: 'incomplete'; missing: ReadonlySet<string> };

/** Merges people again from all facts; one may be in `people` and in `added`. */
export function remerge(people: People, added: readonly AliasFact[]): Remerged {
  const byKey = new Map([...people.facts, ...added].map((fact) => [factKey(fact), fact]));
  const loaded = new Set([...people.rows.keys(), ...distinctIds(added)]);
  const result = mergeAliases([...byKey.values()], (distinctId) => loaded.has(distinctId));
  if (result.kind === 'incomplete') return result;
  const { parents, canonicalOf } = result;
  const rows = new Map<string, IdentityRow>();
  for (const distinctId of loaded) {
    const parent = parents.get(distinctId);
    const row = { distinctId, canonicalId: canonicalOf(distinctId), parent };
    if (!isSameRow(row, people.rows.get(distinctId))) rows.set(distinctId, row);
  }
  const outcomeOf = (fact: AliasFact): AliasOutcome => {
    const parent = parents.get(fact.previousId);
    if (parent && compareFacts(parent, fact) === 0) return 'joined';
    return canonicalOf(fact.previousId) === canonicalOf(fact.userId) ? 'same' : 'refused';
  };
  return { kind: 'merged', rows, outcomes: new Map(added.map((fact) => [fact, outcomeOf(fact)])) };
}

function isSameRow(a: IdentityRow, b: IdentityRow | undefined): boolean {
  if (b?.canonicalId !== a.canonicalId) return false;
  return a.parent === undefined || b.parent === undefined
    ? a.parent === b.parent
    : compareFacts(a.parent, b.parent) === 0;
}
