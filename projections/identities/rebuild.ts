import type { AliasFact } from './alias-fact.ts';
import { resolve } from './resolve.ts';

/**
 * Names of one account that any alias ever mentioned, and whose they are: what identities_flat
 * holds. `undone`: until when aliases of a previous_id were taken back, ms.
 */
export function flatNames(
  facts: readonly AliasFact[],
  undone: ReadonlyMap<string, number>,
): Map<string, string> {
  const valid = facts.filter(
    ({ previousId, at }) => at.receivedAt > (undone.get(previousId) ?? -1),
  );
  const resolution = resolve(valid);
  if (resolution.kind === 'needs')
    throw new Error('all facts of the account are at hand, and some are missing');
  return new Map(
    facts
      .flatMap(({ previousId, userId }) => [previousId, userId])
      .map((name) => [name, resolution.canonicalOf(name)]),
  );
}
