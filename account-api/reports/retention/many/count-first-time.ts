import type { Counted } from '../../many-events/counted.ts';
import type { PeopleOfPartition } from '../../many-events/people-of-partition.ts';

/**
 * A key is: time in ms since the first cohort's begin + 1 | position of the period + 1 (12 bits) |
 * is a return | is a start. Both are 0 for a start before the first cohort.
 */
export const KEY_PERIOD_SHIFT = 2;
export const KEY_TIME_SHIFT = 14;
const START = 1;
const RETURN = 2;
const TIME = 2 ** KEY_TIME_SHIFT;
const PERIODS = 2 ** (KEY_TIME_SHIFT - KEY_PERIOD_SHIFT) - 1;
/** Bits of a number on which V8 works without a heap number. */
const WORD = 30;

export interface FirstTimeRules {
  cohorts: number;
  /** Periods of a cohort, its own included: 60 at most. */
  periods: number;
  /** Starts are returns, and returns starts. */
  isSameEvent: boolean;
}

/**
 * First-time retention where neither values nor ties matter: a person's first start is a minimum,
 * and what they have besides are the periods of their returns (first-time-sql.ts says the same).
 */
export class FirstTimeCounter {
  readonly #rules: FirstTimeRules;
  readonly #members: Float64Array<ArrayBuffer>;
  readonly #returned: Float64Array<ArrayBuffer>;
  /** By person: key of the first start. */
  #first = new Float64Array(0);
  /** By person: its period + 1; 0 for nobody of a cohort. */
  #period = new Int32Array(0);
  /** By person: the periods of returns, relative to the first, as bits of two words. */
  #patterns: [Int32Array, Int32Array] = [new Int32Array(0), new Int32Array(0)];
  /** By person: events in the first one's period that are starts and returns. */
  #own = new Int32Array(0);

  constructor(rules: FirstTimeRules) {
    this.#rules = rules;
    this.#members = new Float64Array(rules.cohorts);
    this.#returned = new Float64Array(rules.cohorts * rules.periods);
  }

  add(partition: PeopleOfPartition): void {
    const { count, events, lower } = partition;
    this.#begin(count);
    this.#findFirst(partition);
    for (let event = 0; event < events; event++)
      if (((lower[event] as number) & RETURN) !== 0) this.#addReturn(partition, event);
    for (let person = 0; person < count; person++) this.#addPerson(person);
  }

  /**
   * `counts`: members by cohort, and those who returned, by cohort * periods + period since the
   * cohort's.
   */
  counted(): Counted {
    return { counts: [this.#members, this.#returned], lists: [] };
  }

  #begin(people: number): void {
    if (this.#first.length < people) {
      const size = 2 * people;
      this.#first = new Float64Array(size);
      this.#period = new Int32Array(size);
      this.#patterns = [new Int32Array(size), new Int32Array(size)];
      this.#own = new Int32Array(size);
    }
    this.#first.fill(Infinity, 0, people);
    for (const words of [this.#period, ...this.#patterns, this.#own]) words.fill(0, 0, people);
  }

  #findFirst({ events, people, keys, lower }: PeopleOfPartition): void {
    const [first, period] = [this.#first, this.#period];
    for (let event = 0; event < events; event++) {
      const bits = lower[event] as number;
      if ((bits & START) === 0) continue;
      const person = people[event] as number;
      const key = keys[event] as number;
      if (key >= (first[person] as number)) continue;
      first[person] = key;
      period[person] = periodOf(bits);
    }
  }

  #addReturn({ people, keys, lower }: PeopleOfPartition, event: number): void {
    const person = people[event] as number;
    const own = this.#period[person] as number;
    // nobody of a cohort: no start, or the first one before all of them
    if (own === 0) return;
    const later = periodOf(lower[event] as number) - own;
    if (later < 0 || later >= this.#rules.periods) return;
    if (later === 0) {
      if (this.#rules.isSameEvent) (this.#own[person] as number)++;
      else if (timeOf(keys[event] as number) < timeOf(this.#first[person] as number)) return;
    }
    const words = this.#patterns[later < WORD ? 0 : 1];
    (words[person] as number) |= 1 << (later % WORD);
  }

  #addPerson(person: number): void {
    const cohort = (this.#period[person] as number) - 1;
    const { periods, cohorts, isSameEvent } = this.#rules;
    if (cohort < 0 || cohort >= cohorts) return;
    (this.#members[cohort] as number)++;
    const base = cohort * periods;
    for (let word = 0; word < 2; word++) {
      let bits = this.#patterns[word === 0 ? 0 : 1][person] as number;
      // the first start alone is not its own return
      if (word === 0 && isSameEvent && (this.#own[person] as number) < 2) bits &= ~1;
      for (; bits !== 0; bits &= bits - 1)
        (this.#returned[base + word * WORD + 31 - Math.clz32(bits & -bits)] as number)++;
    }
  }
}

function periodOf(lower: number): number {
  return (lower >>> KEY_PERIOD_SHIFT) & PERIODS;
}

function timeOf(key: number): number {
  return Math.floor(key / TIME);
}
