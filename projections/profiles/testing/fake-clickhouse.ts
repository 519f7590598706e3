import { profileKey, type Profile } from '../profile.ts';
import type { ProfileStore } from '../store.ts';

/** Metrics that nobody reads. */
export const NO_METRICS = {
  folded: () => undefined,
  unreadable: () => undefined,
  misplaced: () => undefined,
  refolded: () => undefined,
};

/**
 * The outcome of a save: it is stored; or the worker dies, and the rows are stored later, in part, or
 * never.
 */
export type SaveOutcome = 'stored' | 'late' | 'part' | 'lost';

/** ReplacingMergeTree as a map: the state with more events replaces the other. */
export class FakeClickhouse {
  readonly states = new Map<string, Profile>();
  /** Inserts of dead workers that ClickHouse has not executed yet. */
  readonly underway: Profile[][] = [];

  insert(profiles: readonly Profile[]): void {
    for (const profile of profiles) {
      const key = profileKey(profile.accountId, profile.name);
      if (profile.eventCount > (this.states.get(key)?.eventCount ?? 0))
        this.states.set(key, profile);
    }
  }

  client(nextOutcome: () => SaveOutcome, crash: () => void): ProfileStore {
    return {
      load: () => Promise.resolve(new Map(this.states)),
      save: (profiles) => {
        const outcome = nextOutcome();
        if (outcome === 'stored') {
          this.insert(profiles);
          return Promise.resolve();
        }
        if (outcome === 'late') this.underway.push([...profiles]);
        if (outcome === 'part') this.insert(profiles.slice(0, Math.ceil(profiles.length / 2)));
        crash();
        return Promise.reject(new Error('killed'));
      },
    };
  }
}
