import { GAP_SHIFT } from '../event-arrays.ts';
import { stepsOf, type FunnelEvents, type Span } from './funnel-events.ts';

const NONE = -1;

/**
 * Simultaneous events of a person, grouped by the steps that they match. Consecutive steps are
 * matched to them one to one, by augmenting paths: with at most twelve steps, in a time that grows
 * with the groups only.
 */
export class StepMatching {
  readonly #masks: number[] = [];
  /** By group: its events that may be used, and those that are. */
  readonly #free: number[] = [];
  readonly #used: number[] = [];
  /** By group: the last search that came to it. */
  readonly #seen: number[] = [];
  #searches = 0;
  /** By step: the group that it is matched to, or NONE. */
  readonly #matched = new Array<number>(GAP_SHIFT).fill(NONE);
  /** The group of a mask, where there are many. */
  readonly #groups: Map<number, number> | undefined;

  constructor({ bits }: FunnelEvents, { from, to }: Span) {
    if (to - from > GAP_SHIFT) this.#groups = new Map();
    for (let at = from; at < to; at++) this.add(stepsOf(bits[at] ?? 0));
  }

  /** An event that matches these steps may be used. */
  add(mask: number): void {
    if (mask === 0) return;
    const group = this.#groupOf(mask);
    if (group !== NONE) {
      this.#free[group] = (this.#free[group] ?? 0) + 1;
      return;
    }
    this.#groups?.set(mask, this.#masks.length);
    this.#masks.push(mask);
    this.#free.push(1);
    this.#used.push(0);
    this.#seen.push(0);
  }

  /** One event that matches these steps is used otherwise. */
  remove(mask: number): void {
    const group = this.#groupOf(mask);
    this.#free[group] = (this.#free[group] ?? 0) - 1;
  }

  /** The greatest end ≤ to for which each step from ≤ step < end has an event of its own. */
  reach(from: number, to: number): number {
    this.#matched.fill(NONE);
    this.#used.fill(0);
    return this.#extend(from, to);
  }

  /** `reach(from, to)` for each step. */
  reaches(to: number): number[] {
    this.#matched.fill(NONE);
    this.#used.fill(0);
    const ends: number[] = [];
    for (let from = 0; from < to; from++) {
      // the steps behind the one that is given up stay matched
      const end = this.#extend(Math.max(from, ends[from - 1] ?? 0), to);
      ends.push(end);
      const group = this.#matched[from] ?? NONE;
      if (group === NONE) continue;
      this.#used[group] = (this.#used[group] ?? 0) - 1;
      this.#matched[from] = NONE;
    }
    return ends;
  }

  #groupOf(mask: number): number {
    return this.#groups ? (this.#groups.get(mask) ?? NONE) : this.#masks.indexOf(mask);
  }

  #extend(from: number, to: number): number {
    for (let step = from; step < to; step++) {
      this.#searches++;
      if (!this.#augment(step)) return step;
    }
    return to;
  }

  #augment(step: number): boolean {
    for (let group = 0; group < this.#masks.length; group++) {
      if (!(((this.#masks[group] ?? 0) >> step) & 1)) continue;
      if (this.#seen[group] === this.#searches) continue;
      this.#seen[group] = this.#searches;
      if (this.#hasRoom(group)) {
        this.#matched[step] = group;
        return true;
      }
    }
    return false;
  }

  /** Counts one more event of the group as used; a step that had one may take another group's. */
  #hasRoom(group: number): boolean {
    if ((this.#used[group] ?? 0) < (this.#free[group] ?? 0)) {
      this.#used[group] = (this.#used[group] ?? 0) + 1;
      return true;
    }
    for (let other = 0; other < GAP_SHIFT; other++)
      // `used` counts the other step's new event, and this step has its old one
      if (this.#matched[other] === group && this.#augment(other)) return true;
    return false;
  }
}
