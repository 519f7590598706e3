export type DeadLetterState = 'dead' | 'redriving' | 'redriven' | 'discarded';

/** Letters of one cause and one state, counted. */
export interface StateCount {
  fingerprint: string;
  stage: string;
  reason: string;
  state: DeadLetterState;
  letters: number;
  events: number;
  /** ms since the epoch */
  first: number;
  last: number;
  /** The letter that failed last. */
  sample: string;
}

/** Letters of one cause. */
export interface DeadLetterGroup {
  /** What `show`, `redrive` and `discard` take. */
  group: string;
  stage: string;
  reason: string;
  letters: number;
  /**
   * Accepted events that the letters hold; letters whose content could not be read hold an unknown
   * number and count none.
   */
  events: number;
  states: Record<DeadLetterState, number>;
  first: number;
  last: number;
  sample: string;
}

/**
 * Puts the states of each cause together. Groups with letters that wait for a decision come first,
 * then those that failed last.
 */
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
      for (const { state, letters } of some) states[state] += letters;
      return {
        ...{ group, stage: newest.stage, reason: newest.reason, states, sample: newest.sample },
        letters: some.reduce((sum, { letters }) => sum + letters, 0),
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

/**
 * The group that a person means: a fingerprint, the beginning of one, or a reason that only one
 * group has.
 */
export function findGroup(groups: readonly DeadLetterGroup[], text: string): GroupMatch {
  const found = groups.filter(({ group, reason }) => group.startsWith(text) || reason === text);
  const [only] = found;
  if (only === undefined) return { kind: 'none' };
  return found.length === 1 ? { kind: 'one', group: only } : { kind: 'several', groups: found };
}
