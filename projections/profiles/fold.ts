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
  grouped: EventsByPerson,
  profiles: readonly (Profile | undefined)[],
): FoldResult {
  const changed: Profile[] = [];
  const keys: string[] = [];
  const counts = foldEach(grouped, {
    before: (person) => profiles[person],
    changed: (profile, person) => {
      changed.push(profile);
      keys.push(grouped.people[person]?.key ?? '');
    },
  });
  return { changed, keys, ...counts };
}

/** Where profiles come from and go to; people are numbered as in `people`. */
interface ProfilesOfFold {
  before(person: number): Profile | undefined;
  changed(profile: Profile, person: number): void;
}

/**
 * Folds events person by person, each person's in order: a profile need not live longer than the
 * fold of its own events.
 */
export function foldEach(
  grouped: EventsByPerson,
  profiles: ProfilesOfFold,
): Omit<FoldResult, 'changed' | 'keys'> {
  const { events, people } = grouped;
  const misplaced: MisplacedEvent[] = [];
  let skipped = 0;
  let droppedTraits = 0;
  const onDropped = () => {
    droppedTraits++;
  };
  const { order, ends } = orderByPerson(grouped);
  let at = 0;
  for (let person = 0; person < people.length; person++) {
    const before = profiles.before(person);
    let after = before;
    for (const end = ends[person] ?? 0; at < end; at++) {
      const event = events[order[at] ?? -1];
      if (event === undefined) throw new Error('an event of no fold');
      try {
        if (isFoldedIn(after, event)) skipped++;
        else after = evolve(after, event, { onDropped });
      } catch (error) {
        if (!(error instanceof MisplacedEvent)) throw error;
        misplaced.push(error);
      }
    }
    if (after !== undefined && after !== before) profiles.changed(after, person);
  }
  return { skipped, misplaced, droppedTraits };
}

/** Indexes of the events, those of each person together; `ends[n]`: where those of person n end. */
function orderByPerson({ events, people, personOf }: EventsByPerson): {
  order: Int32Array;
  ends: Int32Array;
} {
  const ends = new Int32Array(people.length);
  for (const person of personOf) ends[person] = (ends[person] ?? 0) + 1;
  let end = 0;
  for (let person = 0; person < ends.length; person++) ends[person] = end += ends[person] ?? 0;
  const order = new Int32Array(events.length);
  // From the last one on, so that what was an end becomes a begin.
  for (let at = events.length - 1; at >= 0; at--) {
    const person = personOf[at] ?? -1;
    const place = (ends[person] ?? 0) - 1;
    ends[person] = place;
    order[place] = at;
  }
  for (let person = 0; person < ends.length; person++)
    ends[person] = ends[person + 1] ?? events.length;
  return { order, ends };
}
