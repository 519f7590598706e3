export type DeadLetterState = 'dead' | 'redriving' | 'redriven' | 'discarded';

/** Number of dead letters of one cause in one state. */
export interface StateCount {
  fingerprint: string;
  stage: string;
  reason: string;
  state: DeadLetterState;
  deadLetters: number;
  events: number;
  /** ms since the epoch */
  first: number;
  last: number;
  /** Key of the dead letter that failed last. */
  sample: string;
}

/** Dead letters of one cause. */
export interface DeadLetterGroup {
  /** Argument of `show`, `redrive` and `discard`. */
  group: string;
  stage: string;
  reason: string;
  deadLetters: number;
  /** Accepted events in the dead letters; one that cannot be decoded counts as none. */
  events: number;
  states: Record<DeadLetterState, number>;
  first: number;
  last: number;
  sample: string;
}

/** Groups the counts by cause: groups that wait for a decision first, then the latest failures. */
export function groupsOf(counts: readonly StateCount[]): DeadLetterGroup[] {
  const groups = [...Map.groupBy(counts, ({ fingerprint }) => fingerprint)].map(
    ([group, some]): DeadLetterGroup => {
      const newest = some.reduce((a, b) => (b.last > a.last ? b : a));
      const states: Record<DeadLetterState, number> = {
        dead: 0,
        redriving: 0,
        redriven: 0,
        discarded: 0,
      };
      for (const { state, deadLetters } of some) states[state] += deadLetters;
      return {
        ...{ group, stage: newest.stage, reason: newest.reason, states, sample: newest.sample },
        deadLetters: some.reduce((sum, one) => sum + one.deadLetters, 0),
        events: some.reduce((sum, { events }) => sum + events, 0),
        first: Math.min(...some.map(({ first }) => first)),
        last: newest.last,
      };
    },
  );
  const waiting = ({ states }: DeadLetterGroup) => (states.dead + states.redriving > 0 ? 1 : 0);
  return groups.sort((a, b) => waiting(b) - waiting(a) || b.last - a.last);
}

export type GroupMatch =
  | { readonly kind: 'one'; readonly group: DeadLetterGroup }
  | { readonly kind: 'none' }
  | { readonly kind: 'several'; readonly groups: readonly DeadLetterGroup[] };

/** Finds a group by its fingerprint, a prefix of it, or a reason that only one group has. */
export function findGroup(groups: readonly DeadLetterGroup[], text: string): GroupMatch {
  const found = groups.filter(({ group, reason }) => group.startsWith(text) || reason === text);
  const [only] = found;
  if (only === undefined) return { kind: 'none' };
  return found.length === 1 ? { kind: 'one', group: only } : { kind: 'several', groups: found };
}
