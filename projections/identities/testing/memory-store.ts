import { factKey, type AliasFact } from '../alias-fact.ts';
import type { NameRow } from '../advance.ts';
import type { Change, IdentityStore } from '../store.ts';

/**
 * The store of one account in memory, for tests of what is built on it: the same promises as the
 * one in PostgreSQL, held by a property test against both.
 */
export class MemoryIdentities implements IdentityStore {
  readonly facts = new Map<string, AliasFact>();
  readonly rows = new Map<string, NameRow & { revision: number }>();
  readonly undone = new Map<string, number>();
  revision = 0;
  publishedTo = 0;
  /** Called before each commit: somebody else may come first. */
  beforeCommit: () => Promise<void> = () => Promise.resolve();

  look(_: number, facts: readonly AliasFact[]) {
    const rows = facts.flatMap(({ previousId, userId }) =>
      [this.rows.get(previousId) ?? [], this.rows.get(userId) ?? []].flat(),
    );
    return Promise.resolve({
      revision: this.revision,
      rows: new Map<string, NameRow>(rows.map((row) => [row.name, row])),
      stored: new Set(facts.map(factKey).filter((key) => this.facts.has(key))),
      undone: new Map(this.undone),
    });
  }

  people(_: number, names: readonly string[], undo?: { previousId: string; until: number }) {
    const canonical = new Set(names.map((name) => this.rows.get(name)?.canonical));
    const rows = [...this.rows.values()].filter((row) => canonical.has(row.canonical));
    const wanted = new Set([...names, ...rows.map(({ name }) => name)]);
    const isUndone = ({ previousId, at }: AliasFact) =>
      at.receivedAt <= (this.undone.get(previousId) ?? -1) ||
      (undo?.previousId === previousId && at.receivedAt <= undo.until);
    const facts = [...this.facts.values()].filter(
      (fact) => wanted.has(fact.previousId) && !isUndone(fact),
    );
    return Promise.resolve({
      rows: new Map<string, NameRow>(rows.map((row) => [row.name, row])),
      facts,
    });
  }

  async commit({ revision, facts, rows, undo }: Change) {
    await this.beforeCommit();
    if (revision !== this.revision) return false;
    this.revision++;
    for (const fact of facts) this.facts.set(factKey(fact), fact);
    for (const row of rows) this.rows.set(row.name, { ...row, revision: this.revision });
    if (undo)
      this.undone.set(
        undo.previousId,
        Math.max(undo.until, this.undone.get(undo.previousId) ?? -1),
      );
    return true;
  }

  unpublished() {
    return Promise.resolve({
      upTo: this.revision,
      rows: [...this.rows.values()].filter(({ revision }) => revision > this.publishedTo),
    });
  }

  published(_: number, upTo: number) {
    this.publishedTo = Math.max(this.publishedTo, upTo);
    return Promise.resolve();
  }

  accountsToPublish() {
    return Promise.resolve(this.revision > this.publishedTo ? [1] : []);
  }
}
