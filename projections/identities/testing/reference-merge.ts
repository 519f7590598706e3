import type { AliasFact } from '../alias-fact.ts';
import type { Undo } from '../store.ts';

/**
 * The canonical id of every mentioned distinct id, written from the words of (reports: People)
 * without code of the projection. Slow: only for tests.
 */
export function specifiedPeople(
  facts: readonly AliasFact[],
  undos: readonly Undo[] = [],
): Map<string, string> {
  const sortKey = ({ order }: AliasFact) => [
    order.receivedAt,
    order.epoch,
    order.partition,
    order.offset,
    order.index,
  ];
  const valid = facts.filter(
    (fact) =>
      !undos.some(
        (undo) => undo.previousId === fact.previousId && fact.order.receivedAt <= undo.until,
      ),
  );
  const sorted = valid.toSorted((a, b) => {
    const [left, right] = [sortKey(a), sortKey(b)];
    const at = left.findIndex((part, index) => part !== right[index]);
    return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
  });
  const parentOf = new Map<string, string>();
  const personOf = (distinctId: string): string => {
    const parent = parentOf.get(distinctId);
    return parent === undefined ? distinctId : personOf(parent);
  };
  for (const { previousId, userId } of sorted) {
    const isLinked = parentOf.has(previousId);
    const closesCycle = personOf(userId) === previousId;
    if (!isLinked && !closesCycle) parentOf.set(previousId, userId);
  }
  return new Map(
    facts
      .flatMap(({ previousId, userId }) => [previousId, userId])
      .map((distinctId) => [distinctId, personOf(distinctId)]),
  );
}
