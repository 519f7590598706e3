import type { AliasFact } from '../alias-fact.ts';
import type { Undo } from '../store.ts';

/**
 * Whose each mentioned name is, straight from the words of reports.md ("People") and sharing no
 * code with the projection: for tests only, slow.
 */
export function specifiedPeople(
  facts: readonly AliasFact[],
  undos: readonly Undo[] = [],
): Map<string, string> {
  const order = ({ at }: AliasFact) => [at.receivedAt, at.epoch, at.partition, at.offset, at.index];
  const valid = facts.filter(
    (fact) =>
      !undos.some(
        (undo) => undo.previousId === fact.previousId && fact.at.receivedAt <= undo.until,
      ),
  );
  const sorted = valid.toSorted((a, b) => {
    const [left, right] = [order(a), order(b)];
    const at = left.findIndex((part, index) => part !== right[index]);
    return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
  });
  const joinedTo = new Map<string, string>();
  const personOf = (name: string): string => {
    const next = joinedTo.get(name);
    return next === undefined ? name : personOf(next);
  };
  for (const { previousId, userId } of sorted) {
    const wasJoined = joinedTo.has(previousId);
    const closesCircle = personOf(userId) === previousId;
    if (!wasJoined && !closesCircle) joinedTo.set(previousId, userId);
  }
  return new Map(
    facts
      .flatMap(({ previousId, userId }) => [previousId, userId])
      .map((name) => [name, personOf(name)]),
  );
}
