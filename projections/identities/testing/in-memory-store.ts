import { factKey, type AliasFact, type IdentityRow } from '../alias-fact.ts';
import { addDecision, noDecisions, whyIgnored, type Decision } from '../decisions.ts';
import type { Change, IdentityStore } from '../store.ts';

/** The store of one account in memory, with the guarantees of the one in PostgreSQL. */
export class InMemoryIdentities implements IdentityStore {
  readonly facts = new Map<string, AliasFact>();
  readonly rows = new Map<string, IdentityRow & { revision: number }>();
  readonly decided: Decision[] = [];
  revision = 0;
  publishedTo = 0;
  /** Called before each commit: another worker may commit first. */
  beforeCommit: () => Promise<void> = () => Promise.resolve();

  snapshot(_accountId: number, facts: readonly AliasFact[]) {
    const rows = facts.flatMap(({ previousId, userId }) =>
      [this.rows.get(previousId) ?? [], this.rows.get(userId) ?? []].flat(),
    );
    return Promise.resolve({
      revision: this.revision,
      rows: new Map<string, IdentityRow>(rows.map((row) => [row.distinctId, row])),
      stored: new Set(facts.map(factKey).filter((key) => this.facts.has(key))),
      decisions: this.#decisions(),
    });
  }

  #decisions(more?: Decision) {
    const decisions = noDecisions();
    for (const one of this.decided) addDecision(decisions, one);
    if (more) addDecision(decisions, more);
    return decisions;
  }

  loadPeople(_accountId: number, ids: readonly string[], decision?: Decision) {
    const canonical = new Set(ids.map((id) => this.rows.get(id)?.canonicalId));
    const rows = [...this.rows.values()].filter((row) => canonical.has(row.canonicalId));
    const wanted = new Set([...ids, ...rows.map(({ distinctId }) => distinctId)]);
    const decisions = this.#decisions(decision);
    const facts = [...this.facts.values()].filter(
      (fact) => wanted.has(fact.previousId) && whyIgnored(fact, decisions) === undefined,
    );
    return Promise.resolve({
      rows: new Map<string, IdentityRow>(rows.map((row) => [row.distinctId, row])),
      facts,
    });
  }

  async commit({ revision, facts, rows, decision }: Change) {
    await this.beforeCommit();
    if (revision !== this.revision) return false;
    this.revision++;
    for (const fact of facts) this.facts.set(factKey(fact), fact);
    for (const row of rows) this.rows.set(row.distinctId, { ...row, revision: this.revision });
    if (decision) this.decided.push(decision);
    return true;
  }

  unpublished() {
    return Promise.resolve({
      upTo: this.revision,
      rows: [...this.rows.values()].filter(({ revision }) => revision > this.publishedTo),
    });
  }

  markPublished(_accountId: number, upTo: number) {
    this.publishedTo = Math.max(this.publishedTo, upTo);
    return Promise.resolve();
  }

  unpublishedAccounts() {
    return Promise.resolve(this.revision > this.publishedTo ? [1] : []);
  }
}
