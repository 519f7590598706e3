import {
  distinctIds,
  factKey,
  type AliasFact,
  type AliasOutcome,
  type IdentityRow,
} from './alias-fact.ts';
import { remerge, type Remerged } from './merge.ts';
import { mergeIncrementally } from './merge-incremental.ts';
import { whyIgnored, type Decision } from './decisions.ts';
import type { IdentityStore } from './store.ts';

/** Other workers kept changing the account. */
export class TooManyConflicts extends Error {
  constructor(accountId: number) {
    super(`the identities of account ${accountId} changed during ${MAX_CONFLICTS} attempts`);
    this.name = 'TooManyConflicts';
  }
}

/** More conflicts in a row mean a defect. */
const MAX_CONFLICTS = 100;

/**
 * Applies aliases of one account; aliases that are stored already change nothing. Resolves with the
 * outcomes of the new ones once everything that follows from them is stored. Rejects with the error
 * of the store, or TooManyConflicts.
 */
export async function applyAliases(
  store: IdentityStore,
  accountId: number,
  facts: readonly AliasFact[],
): Promise<Map<AliasFact, AliasOutcome>> {
  const outcomes = new Map<AliasFact, AliasOutcome>();
  let pending = facts;
  for (let conflicts = 0; pending.length > 0;) {
    if (conflicts > MAX_CONFLICTS) throw new TooManyConflicts(accountId);
    const { revision, rows, stored, decisions } = await store.snapshot(accountId, pending);
    const added = pending.filter((fact) => !stored.has(factKey(fact)));
    const ignored = new Map(
      added.flatMap((fact) => {
        const why = whyIgnored(fact, decisions);
        return why === undefined ? [] : [[fact, why] as const];
      }),
    );
    const merge = mergeIncrementally(
      added.filter((fact) => !ignored.has(fact)),
      rows,
    );
    const independent = [...ignored.keys(), ...merge.merged];
    // The next iteration merges the dependent facts; it finds the independent ones stored.
    if (independent.length > 0) {
      const roots = newRoots([...ignored.keys()], [rows, merge.rows]);
      const change = {
        ...{ accountId, revision, facts: independent },
        rows: [...merge.rows.values(), ...roots],
      };
      if (await store.commit(change)) {
        for (const [fact, why] of ignored) outcomes.set(fact, why);
        for (const [fact, outcome] of merge.outcomes) outcomes.set(fact, outcome);
        pending = merge.dependent;
      } else conflicts++;
      continue;
    }
    const done = await remergeStored(store, { accountId, revision, facts: merge.dependent });
    if (done) {
      for (const [fact, outcome] of done.outcomes) outcomes.set(fact, outcome);
      pending = [];
    } else conflicts++;
  }
  return outcomes;
}

/** Rows of the distinct ids that only ignored facts mention: each is a person of its own. */
function newRoots(
  ignored: readonly AliasFact[],
  known: readonly ReadonlyMap<string, IdentityRow>[],
): IdentityRow[] {
  return [...new Set(distinctIds(ignored))]
    .filter((distinctId) => !known.some((rows) => rows.has(distinctId)))
    .map((distinctId) => ({ distinctId, canonicalId: distinctId, parent: undefined }));
}

/** Applies an operator's decision. Resolves when everything that follows from it is stored. */
export async function applyDecision(
  store: IdentityStore,
  accountId: number,
  decision: Decision,
): Promise<void> {
  for (let conflicts = 0; conflicts <= MAX_CONFLICTS; conflicts++) {
    const { revision } = await store.snapshot(accountId, []);
    if (await remergeStored(store, { accountId, revision, facts: [], decision })) return;
  }
  throw new TooManyConflicts(accountId);
}

/**
 * Merges the people of distinct ids that stored aliases name again, after rows of them were
 * removed. Resolves when everything that follows from it is stored.
 */
export async function mergeAgain(
  store: IdentityStore,
  accountId: number,
  again: readonly string[],
): Promise<void> {
  for (let conflicts = 0; conflicts <= MAX_CONFLICTS; conflicts++) {
    const { revision } = await store.snapshot(accountId, []);
    if (await remergeStored(store, { accountId, revision, facts: [], again })) return;
  }
  throw new TooManyConflicts(accountId);
}

interface Affected {
  accountId: number;
  revision: number;
  facts: readonly AliasFact[];
  decision?: Decision;
  /** Distinct ids that are merged again; they may lack a row. */
  again?: readonly string[];
}

/**
 * Merges the affected people again and loads further people until none is missing. Resolves
 * undefined when the account changed meanwhile.
 */
async function remergeStored(
  store: IdentityStore,
  { accountId, revision, facts, decision, again = [] }: Affected,
): Promise<Extract<Remerged, { kind: 'merged' }> | undefined> {
  if (facts.length === 0 && !decision && again.length === 0)
    return { kind: 'merged', rows: new Map(), outcomes: new Map() };
  const ids = new Set(distinctIds(facts));
  if (decision) ids.add(decision.previousId);
  if (decision && decision.kind !== 'undo') ids.add(decision.userId);
  const extra = new Set<string>(again);
  for (;;) {
    const people = await store.loadPeople(accountId, [...ids, ...extra], decision);
    // An id that was requested and has no row is mentioned by no fact.
    const rows = new Map(people.rows);
    for (const distinctId of extra)
      if (!rows.has(distinctId))
        rows.set(distinctId, { distinctId, canonicalId: distinctId, parent: undefined });
    const result = remerge({ rows, facts: people.facts }, facts);
    if (result.kind === 'incomplete') {
      const before = extra.size;
      for (const distinctId of result.missing) extra.add(distinctId);
      if (extra.size > before) continue;
      throw new Error(`people of account ${accountId} are missing although they were loaded`);
    }
    const isStored = await store.commit({
      accountId,
      revision,
      facts,
      rows: [...result.rows.values()],
      ...(decision ? { decision } : {}),
    });
    return isStored ? result : undefined;
  }
}
