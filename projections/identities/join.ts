import { advance } from './advance.ts';
import { factKey, type AliasFact, type AliasOutcome } from './alias-fact.ts';
import { recompute, type Recomputed } from './recompute.ts';
import type { IdentityStore, Undo } from './store.ts';

/** Somebody else changes the same account all the time. */
export class TooManyConflicts extends Error {
  constructor(accountId: number) {
    super(`the identities of account ${accountId} changed under ${MOST_CONFLICTS} attempts`);
    this.name = 'TooManyConflicts';
  }
}

/** More than these in a row are no chance. */
const MOST_CONFLICTS = 100;

/**
 * Takes aliases of one account in; facts that are stored already change nothing. Resolves when they
 * and all that follows from them are stored. Answers what became of those that are new. Rejects
 * with what the store rejects with, or TooManyConflicts.
 */
export async function joinFacts(
  store: IdentityStore,
  accountId: number,
  facts: readonly AliasFact[],
): Promise<Map<AliasFact, AliasOutcome>> {
  const outcomes = new Map<AliasFact, AliasOutcome>();
  let waiting = facts;
  for (let conflicts = 0; waiting.length > 0;) {
    if (conflicts > MOST_CONFLICTS) throw new TooManyConflicts(accountId);
    const look = await store.look(accountId, waiting);
    const fresh = waiting.filter((fact) => !look.stored.has(factKey(fact)));
    const undone = fresh.filter(
      ({ previousId, at }) => at.receivedAt <= (look.undone.get(previousId) ?? -1),
    );
    const step = advance(
      fresh.filter((fact) => !undone.includes(fact)),
      look.rows,
    );
    const easy = [...undone, ...step.settled];
    // First what is easy; what is hard then finds it stored.
    if (easy.length > 0) {
      if (
        await store.commit({
          accountId,
          revision: look.revision,
          facts: easy,
          rows: [...step.rows.values()],
        })
      ) {
        for (const fact of undone) outcomes.set(fact, 'undone');
        for (const [fact, outcome] of step.outcomes) outcomes.set(fact, outcome);
        waiting = step.hard;
      } else conflicts++;
      continue;
    }
    const done = await joinHard(store, { accountId, revision: look.revision, facts: step.hard });
    if (done) {
      for (const [fact, outcome] of done.outcomes) outcomes.set(fact, outcome);
      waiting = [];
    } else conflicts++;
  }
  return outcomes;
}

/** Takes an undo in. Resolves when all that follows from it is stored. */
export async function undoAlias(
  store: IdentityStore,
  accountId: number,
  undo: Undo,
): Promise<void> {
  for (let conflicts = 0; conflicts <= MOST_CONFLICTS; conflicts++) {
    const { revision } = await store.look(accountId, []);
    if (await joinHard(store, { accountId, revision, facts: [], undo })) return;
  }
  throw new TooManyConflicts(accountId);
}

interface Hard {
  accountId: number;
  revision: number;
  facts: readonly AliasFact[];
  undo?: Undo;
}

/**
 * Computes the people concerned anew, and looks at more of them until nothing is missing. Answers
 * undefined when the account changed meanwhile.
 */
async function joinHard(
  store: IdentityStore,
  { accountId, revision, facts, undo }: Hard,
): Promise<Extract<Recomputed, { kind: 'done' }> | undefined> {
  if (facts.length === 0 && !undo) return { kind: 'done', rows: new Map(), outcomes: new Map() };
  const names = new Set(facts.flatMap(({ previousId, userId }) => [previousId, userId]));
  if (undo) names.add(undo.previousId);
  const extra = new Set<string>();
  for (;;) {
    const stored = await store.people(accountId, [...names, ...extra], undo);
    // A name that was asked for and has no row is mentioned by no fact.
    const rows = new Map(stored.rows);
    for (const name of extra)
      if (!rows.has(name)) rows.set(name, { name, canonical: name, via: undefined });
    const result = recompute({ rows, facts: stored.facts }, facts);
    if (result.kind === 'needs') {
      const before = extra.size;
      for (const name of result.names) extra.add(name);
      if (extra.size > before) continue;
      throw new Error(`people of account ${accountId} stay unknown although they were asked for`);
    }
    const isStored = await store.commit({
      accountId,
      revision,
      facts,
      rows: [...result.rows.values()],
      ...(undo ? { undo } : {}),
    });
    return isStored ? result : undefined;
  }
}
