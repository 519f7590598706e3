import { distinctIdOf } from '../../events/event-name.ts';
import { evolve, isFoldedIn, MisplacedEvent } from './evolve.ts';
import { profileKey, type Profile, type ProfileEvent } from './profile.ts';

export interface PersonRef {
  accountId: number;
  distinctId: string;
  key: string;
}

/**
 * Events and the people they belong to: event i belongs to `people[personOf[i]]`. A fold looks each
 * person up once, however many events they have.
 */
export interface EventsByPerson {
  events: readonly ProfileEvent[];
  people: readonly PersonRef[];
  personOf: readonly number[];
}

export function groupByPerson(events: readonly ProfileEvent[]): EventsByPerson {
  const people: PersonRef[] = [];
  const byAccount = new Map<number, Map<string, number>>();
  let [accountId, known] = [-1, new Map<string, number>()];
  const personOf = events.map((event) => {
    if (event.account_id !== accountId) {
      accountId = event.account_id;
      known = byAccount.get(accountId) ?? new Map<string, number>();
      byAccount.set(accountId, known);
    }
    const distinctId = distinctIdOf(event);
    let at = known.get(distinctId);
    if (at === undefined) {
      at = people.push({ accountId, distinctId, key: profileKey(accountId, distinctId) }) - 1;
      known.set(distinctId, at);
    }
    return at;
  });
  return { events, people, personOf };
}

export interface FoldResult {
  changed: Profile[];
  /** Keys of the changed profiles. */
  keys: string[];
  /** Events that a profile included already. */
  skipped: number;
  /** Events that are excluded because they came through another partition than earlier ones. */
  misplaced: MisplacedEvent[];
  /** Traits that are in no profile because of the limits of a profile. */
  droppedTraits: number;
}

/** Folds events in order; `profiles[n]` is the profile of `people[n]` before. */
export function fold(
  { events, people, personOf }: EventsByPerson,
  profiles: readonly (Profile | undefined)[],
): FoldResult {
  const after = profiles.slice();
  let skipped = 0;
  const misplaced: MisplacedEvent[] = [];
  let droppedTraits = 0;
  const onDropped = () => {
    droppedTraits++;
  };
  let at = 0;
  for (const event of events) {
    const person = personOf[at++] ?? -1;
    const before = after[person];
    try {
      if (isFoldedIn(before, event)) skipped++;
      else after[person] = evolve(before, event, { onDropped });
    } catch (error) {
      if (!(error instanceof MisplacedEvent)) throw error;
      misplaced.push(error);
    }
  }
  const changed: Profile[] = [];
  const keys: string[] = [];
  people.forEach(({ key }, person) => {
    const profile = after[person];
    if (profile === undefined || profile === profiles[person]) return;
    changed.push(profile);
    keys.push(key);
  });
  return { changed, keys, skipped, misplaced, droppedTraits };
}
