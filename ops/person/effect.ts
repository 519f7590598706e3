import { applyDecision } from '../../projections/identities/apply-aliases.ts';
import type { Decision } from '../../projections/identities/decisions.ts';
import type { Change, IdentityStore } from '../../projections/identities/store.ts';

/** A distinct id whose person a decision changes. */
export interface Moved {
  distinctId: string;
  /** Canonical id of its person, now and afterwards. */
  from: string;
  to: string;
}

/** What a decision would change: computed as identities-sink does, and not stored. */
export async function effectOf(
  store: IdentityStore,
  accountId: number,
  decision: Decision,
): Promise<Moved[]> {
  let change: Change | undefined;
  const before = new Map<string, string>();
  const dry: IdentityStore = {
    snapshot: (account, facts) => store.snapshot(account, facts),
    unpublished: (account) => store.unpublished(account),
    markPublished: (account, upTo) => store.markPublished(account, upTo),
    unpublishedAccounts: () => store.unpublishedAccounts(),
    async loadPeople(account, ids, added) {
      const people = await store.loadPeople(account, ids, added);
      for (const { distinctId, canonicalId } of people.rows.values())
        before.set(distinctId, canonicalId);
      return people;
    },
    commit(made) {
      change = made;
      return Promise.resolve(true);
    },
  };
  await applyDecision(dry, accountId, decision);
  return (change?.rows ?? [])
    .map(({ distinctId, canonicalId }) => ({
      distinctId,
      from: before.get(distinctId) ?? distinctId,
      to: canonicalId,
    }))
    .filter(({ from, to }) => from !== to)
    .sort((a, b) => (a.distinctId < b.distinctId ? -1 : 1));
}
