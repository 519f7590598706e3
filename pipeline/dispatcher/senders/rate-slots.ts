/** A part of a sender's time: `calls` that begin `intervalMs` apart. */
export interface RateGrant {
  /** When the first may begin, ms, on the clock of the caller. */
  from: number;
  intervalMs: number;
  calls: number;
}

/** Calls that were granted and not used are of no use later: they would come in a burst, ms. */
const MAX_LATE_MS = 100;
/** The next part is asked for when the last one ends sooner than this, ms. */
const AHEAD_MS = 250;
/** Time that is asked for at once, ms. */
const PART_MS = 250;

/** Calls that a part of a sender's time has room for. */
export function partOf(perSecond: number): { calls: number; intervalMs: number } {
  const intervalMs = 1000 / perSecond;
  return { calls: Math.max(1, Math.floor(PART_MS / intervalMs)), intervalMs };
}

/** The calls that one process may make of a sender with a limit a second. */
export class RateSlots {
  #grants: RateGrant[] = [];

  add(grant: RateGrant): void {
    this.#grants.push(grant);
  }

  /** Another part should be asked for. */
  isRunningOut(now: number): boolean {
    const last = this.#grants.at(-1);
    return !last || last.from + last.calls * last.intervalMs < now + AHEAD_MS;
  }

  /** Uses at most `max` calls whose time has come; answers how many. */
  take(max: number, now: number): number {
    let count = 0;
    for (const grant of this.#grants) {
      skipLate(grant, now);
      while (count < max && grant.calls > 0 && grant.from <= now) {
        grant.calls--;
        grant.from += grant.intervalMs;
        count++;
      }
    }
    this.#grants = this.#grants.filter(({ calls }) => calls > 0);
    return count;
  }

  /** When the next call may begin, ms; undefined: nothing is granted. */
  nextAt(): number | undefined {
    return this.#grants[0]?.from;
  }
}

/** Calls that are late by more than their interval and MAX_LATE_MS are gone. */
function skipLate(grant: RateGrant, now: number): void {
  const late = Math.floor((now - MAX_LATE_MS - grant.from) / grant.intervalMs);
  const skipped = Math.min(Math.max(0, late), grant.calls);
  grant.calls -= skipped;
  grant.from += skipped * grant.intervalMs;
}
