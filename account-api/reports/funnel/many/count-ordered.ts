import type { Counted, Numbers } from '../../many-events/counted.ts';
import type { PeopleOfPartition } from '../../many-events/people-of-partition.ts';
import { GAP_SHIFT } from '../event-arrays.ts';

/** A key is: time of the event in ms, from 1 on, | the step that it matches, one bit of these. */
const STEPS = 2 ** GAP_SHIFT;
/** The steps that a path of two has. */
const FIRST_TWO = 3;
/** Events of a person that are sorted by insertion. */
const FEW = 24;

export interface OrderedRules {
  /** Number of steps. */
  steps: number;
  windowMs: number;
}

/**
 * The counted paths of the ordered funnel, for people of whose events each matches one step. Of the
 * paths of a length, the one that starts latest can be continued best; the counted path is the
 * longest that ends within the window of its start, the first of them to end. It begins at the
 * earliest of the simultaneous starts, and takes the earliest next event of each step
 * (ordered-sql.ts says the same of arrays).
 */
export class OrderedCounter {
  readonly #rules: OrderedRules;
  readonly #people: Float64Array<ArrayBuffer>;
  readonly #gaps: GapList[];
  /** By length - 1: latest start of such a path so far. */
  readonly #starts: Float64Array;
  /** The start of the one that was the first to end in its window; 0 without one. */
  readonly #ended: Float64Array;
  /** By person: where their keys begin, and end when all are there. */
  #places = new Int32Array(0);
  #sorted = new Float64Array(0);

  constructor(rules: OrderedRules) {
    this.#rules = rules;
    this.#people = new Float64Array(rules.steps + 1);
    this.#gaps = Array.from({ length: rules.steps - 1 }, () => new GapList(rules.windowMs));
    this.#starts = new Float64Array(rules.steps);
    this.#ended = new Float64Array(rules.steps);
  }

  /** Counts the people of a partition. */
  add(partition: PeopleOfPartition): void {
    const { count, bits } = partition;
    this.#groupByPerson(partition);
    for (const gaps of this.#gaps) gaps.reserve(count);
    const [places, counted] = [this.#places, this.#people];
    let from = 0;
    for (let person = 0; person < count; person++) {
      const to = places[person] as number;
      const steps = (bits[person + 1] as number) & (STEPS - 1);
      // most people do not have the events for a second step, and need no order
      const depth = (steps & FIRST_TWO) === FIRST_TWO ? this.#depthOf(from, to, steps) : steps & 1;
      (counted[depth] as number)++;
      if (depth > 1) this.#addGaps({ from, to, depth });
      from = to;
    }
  }

  /** `counts`: people by depth of their path; `lists`: ms between each two steps of the paths. */
  counted(): Counted {
    return { counts: [this.#people], lists: this.#gaps.map((list) => list.values()) };
  }

  /** Each person's keys together, in `#sorted`, not in order. */
  #groupByPerson({ count, events, people, keys }: PeopleOfPartition): void {
    if (this.#places.length <= count) this.#places = new Int32Array(2 * count + 1);
    if (this.#sorted.length < events) this.#sorted = new Float64Array(Math.ceil(events * 1.25));
    const [places, sorted] = [this.#places, this.#sorted];
    places.fill(0, 0, count + 1);
    // first how many each has, behind the one before; then where each one's begin
    for (let event = 0; event < events; event++)
      (places[(people[event] as number) + 1] as number)++;
    for (let person = 1; person < count; person++)
      (places[person] as number) += places[person - 1] as number;
    for (let event = 0; event < events; event++) {
      const person = people[event] as number;
      const place = places[person] as number;
      sorted[place] = keys[event] as number;
      places[person] = place + 1;
    }
  }

  #depthOf(from: number, to: number, steps: number): number {
    const [sorted, starts, ended] = [this.#sorted, this.#starts, this.#ended];
    const { windowMs } = this.#rules;
    sort(sorted, from, to);
    // as far as there is an event for each step
    const reachable = 31 - Math.clz32(~steps & (steps + 1));
    for (let step = 0; step < reachable; step++) starts[step] = 0;
    let depth = 0;
    for (let at = from; at < to; at++) {
      const key = sorted[at] as number;
      const time = timeOf(key);
      const step = stepOf(key, time);
      if (step >= reachable) continue;
      const start = step === 0 ? time : (starts[step - 1] as number);
      if (start === 0) continue;
      starts[step] = start;
      if (step < depth || time - start > windowMs) continue;
      ended[step] = start;
      depth = step + 1;
    }
    return depth;
  }

  /** Walks the counted path of the person with these keys. */
  #addGaps({ from, to, depth }: Record<'from' | 'to' | 'depth', number>): void {
    const [sorted, gaps] = [this.#sorted, this.#gaps];
    const start = this.#ended[depth - 1] as number;
    let before = start;
    for (let at = from, next = 0; next < depth && at < to; at++) {
      const key = sorted[at] as number;
      const time = timeOf(key);
      if (time < start || stepOf(key, time) !== next) continue;
      if (next > 0) gaps[next - 1]?.add(time - before);
      before = time;
      next++;
    }
  }
}

function timeOf(key: number): number {
  return Math.floor(key / STEPS);
}

function stepOf(key: number, time: number): number {
  return 31 - Math.clz32(key - time * STEPS);
}

function sort(values: Float64Array, from: number, to: number): void {
  if (to - from > FEW) {
    values.subarray(from, to).sort();
    return;
  }
  for (let at = from + 1; at < to; at++) {
    const value = values[at] as number;
    let place = at - 1;
    for (; place >= from && (values[place] as number) > value; place--)
      values[place + 1] = values[place] as number;
    values[place + 1] = value;
  }
}

/** Milliseconds, in as many bits as the window needs. */
class GapList {
  #gaps: Numbers;
  #length = 0;

  constructor(windowMs: number) {
    this.#gaps = windowMs < 2 ** 32 ? new Uint32Array(1024) : new Float64Array(1024);
  }

  /** Makes room for so many more. */
  reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#gaps.length) return;
    const size = Math.max(needed, Math.ceil(this.#gaps.length * 1.5));
    const longer =
      this.#gaps instanceof Uint32Array ? new Uint32Array(size) : new Float64Array(size);
    longer.set(this.#gaps);
    this.#gaps = longer;
  }

  add(gap: number): void {
    this.#gaps[this.#length++] = gap;
  }

  values(): Numbers {
    return this.#gaps.subarray(0, this.#length);
  }
}
