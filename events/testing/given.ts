import { expect } from 'vitest';

/**
 * Makes a test of a pure decider read as a specification:
 *
 *     const { given } = decider(judge);
 *     given(EMPTY_WINDOW).when({ processed: 200, dead: 100 }).then({ verdict: 'pass', … });
 *
 * Wrap a decider that has further arguments:
 *
 *     decider((state, input) => judge(state, input, LIMITS))
 */
export function decider<State, Input, Decision>(decide: (state: State, input: Input) => Decision) {
  return {
    given: (state: State) => ({
      when: (input: Input) => ({
        then: (expected: Decision): void => {
          expect(decide(state, input)).toEqual(expected);
        },
        thenThrows: (error: RegExp | string): void => {
          expect(() => decide(state, input)).toThrow(error);
        },
      }),
    }),
  };
}

/** Fields of T, and of its objects, to compare. */
type Fields<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]?: Fields<T[Key]> }
    : T;

/**
 * The same for a state that events change: `given(state).when(first, second).then(fields)`. `then`
 * compares only the fields it names, at any depth.
 */
export function evolver<State extends object, Event>(
  evolve: (state: State, event: Event) => State,
) {
  return {
    given: (state: State) => ({
      when: (...events: readonly Event[]) => ({
        then: (expected: Fields<State>): void => {
          expect(events.reduce((before, event) => evolve(before, event), state)).toMatchObject(
            expected,
          );
        },
      }),
    }),
  };
}
