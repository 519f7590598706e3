import { distinctIdOf } from '../../events/event-name.ts';
import { evolve, isFoldedIn, MisplacedEvent } from './evolve.ts';
import { profileKey, type Profile, type ProfileEvent } from './profile.ts';

export interface GatheredName {
  accountId: number;
  name: string;
  key: string;
}

/**
 * Events with the names that they are of: event i is of name `of[i]`. Each name is looked up once,
 * however many events it has.
 */
export interface Gathered {
  events: readonly ProfileEvent[];
  names: readonly GatheredName[];
  of: readonly number[];
}

export function gather(events: readonly ProfileEvent[]): Gathered {
  const names: GatheredName[] = [];
  const byAccount = new Map<number, Map<string, number>>();
  const of = events.map((event) => {
    const accountId = event.account_id;
    let known = byAccount.get(accountId);
    if (!known) byAccount.set(accountId, (known = new Map<string, number>()));
    const name = distinctIdOf(event);
    let at = known.get(name);
    if (at === undefined) {
      at = names.push({ accountId, name, key: profileKey(accountId, name) }) - 1;
      known.set(name, at);
    }
    return at;
  });
  return { events, names, of };
}

/**
 * Folds events in, in the order of their places; what is in a state already is skipped. `states[n]`
 * is the state of name n before. Answers the states that changed with their keys, and the events
 * that came through another partition than their name's earlier ones: these stay out, because their
 * order is unknown.
 */
export function fold(
  { events, names, of }: Gathered,
  states: readonly (Profile | undefined)[],
): { changed: Profile[]; keys: string[]; skipped: number; misplaced: MisplacedEvent[] } {
  const after = states.slice();
  let skipped = 0;
  const misplaced: MisplacedEvent[] = [];
  for (const [at, event] of events.entries()) {
    const name = of[at] ?? -1;
    const before = after[name];
    try {
      if (isFoldedIn(before, event)) skipped++;
      else after[name] = evolve(before, event);
    } catch (error) {
      if (!(error instanceof MisplacedEvent)) throw error;
      misplaced.push(error);
    }
  }
  const changed: Profile[] = [];
  const keys: string[] = [];
  for (const [name, { key }] of names.entries()) {
    const profile = after[name];
    if (profile === undefined || profile === states[name]) continue;
    changed.push(profile);
    keys.push(key);
  }
  return { changed, keys, skipped, misplaced };
}
