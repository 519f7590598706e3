import type { AliasFact } from '../alias-fact.ts';
import type { Decision } from '../decisions.ts';

/**
 * The canonical id of every mentioned distinct id, written from the words of (reports: People)
 * without code of the projection. Slow: only for tests.
 */
export function specifiedPeople(
  facts: readonly AliasFact[],
  decisions: readonly Decision[] = [],
): Map<string, string> {
  const sortKey = ({ order }: AliasFact) => [
    order.receivedAt,
    order.epoch,
    order.partition,
    order.offset,
    order.index,
  ];
  // All undos of an id act as one, of the latest time.
  const asOne = decisions.map((decision): Decision => {
    if (decision.kind !== 'undo') return decision;
    const same = decisions.flatMap((one) =>
      one.kind === 'undo' && one.previousId === decision.previousId ? [one] : [],
    );
    const until = Math.max(...same.map((one) => one.until));
    return { ...decision, until, decidedAt: Math.max(...same.map((one) => one.decidedAt)) };
  });
  const isAbout = (decision: Decision, { previousId, userId, order }: AliasFact) =>
    decision.kind === 'undo'
      ? decision.previousId === previousId && order.receivedAt <= decision.until
      : [previousId, userId].includes(decision.previousId) &&
        [previousId, userId].includes(decision.userId) &&
        decision.previousId !== decision.userId;
  const valid = facts.filter((fact) => {
    const [latest] = asOne
      .filter((decision) => isAbout(decision, fact))
      .sort((a, b) => b.decidedAt - a.decidedAt || strength(b) - strength(a));
    return latest === undefined || latest.kind === 'rejoin';
  });
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

/** Which of two decisions of one millisecond counts. */
function strength({ kind }: Decision): number {
  return { undo: 2, keep_apart: 1, rejoin: 0 }[kind];
}
