import type { Finding, Verification } from './findings.ts';
import type { Held } from './record-search.ts';

/** Counts of what the records of topics hold. */
export class HeldCounts {
  readonly #store: Finding['store'];
  readonly #counts = { finding: new Map<string, number>(), mention: new Map<string, number>() };

  constructor(store: Finding['store']) {
    this.#store = store;
  }

  add(place: string, held: Held): void {
    if (held === undefined) return;
    const counts = this.#counts[held];
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }

  verification(): Verification {
    const of = (counts: ReadonlyMap<string, number>): Finding[] =>
      [...counts].map(([place, count]) => ({ store: this.#store, place, count }));
    return { findings: of(this.#counts.finding), mentions: of(this.#counts.mention) };
  }
}
