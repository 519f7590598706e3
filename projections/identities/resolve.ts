import { compareFacts, type AliasFact } from './alias-fact.ts';

/** Which fact joined each name that is joined; every other name stands for itself. */
export type Joins = ReadonlyMap<string, AliasFact>;

export type Resolution =
  | { kind: 'resolved'; joins: Joins; canonicalOf: (name: string) => string }
  /** Whether a fact closes a circle depends on names that are not at hand, with their facts. */
  | { kind: 'needs'; names: ReadonlySet<string> };

/**
 * Who belongs to whom (reports.md, "People"): facts are considered in their order; the first of a
 * previous_id that closes no circle joins it, once. The order in which the facts are given does not
 * matter. `isAtHand`: all facts of that name, as a previous_id, are among those given.
 */
export function resolve(
  facts: readonly AliasFact[],
  isAtHand: (name: string) => boolean = () => true,
): Resolution {
  const joins = new Map<string, AliasFact>();
  const needed = new Set<string>();
  const undecided = new Set<string>();
  const canonicalOf = rootFinder(joins);
  for (const fact of facts.toSorted(compareFacts)) {
    const { previousId, userId } = fact;
    if (joins.has(previousId) || undecided.has(previousId)) continue;
    if (!isAtHand(userId)) {
      needed.add(userId);
      undecided.add(previousId);
    } else if (canonicalOf(userId) !== previousId) joins.set(previousId, fact);
  }
  return needed.size > 0
    ? { kind: 'needs', names: needed }
    : { kind: 'resolved', joins, canonicalOf };
}

/**
 * Follows joins to the name that is not joined to any other. Joins are only added, so what was
 * found once is a short way for later.
 */
function rootFinder(joins: ReadonlyMap<string, AliasFact>): (name: string) => string {
  const shortcuts = new Map<string, string>();
  return (name) => {
    const passed: string[] = [];
    let at = name;
    for (
      let next = shortcuts.get(at) ?? joins.get(at)?.userId;
      next !== undefined;
      next = shortcuts.get(at) ?? joins.get(at)?.userId
    ) {
      passed.push(at);
      at = next;
    }
    for (const one of passed) shortcuts.set(one, at);
    return at;
  };
}
