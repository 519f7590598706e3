import { Temporal } from 'temporal-polyfill/full';

const DAY_MS = 86_400_000;

/** True for a name of the time zone database, such as `Asia/Tehran`, and for offsets. */
export function isTimeZone(name: string): boolean {
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId !== '';
  } catch {
    return false;
  }
}

/**
 * Wall-clock time of a time zone, as ms since 1970-01-01T00:00 of that clock. Asks Temporal once
 * for each stretch of time with one offset: it takes 20 µs a question.
 */
export class LocalClock {
  readonly #timeZone: string;
  /** The offset holds from `from` until before `until`. */
  #stretch = { from: 0, until: 0, offset: 0 };

  /** @throws RangeError when the time zone is unknown */
  constructor(timeZone: string) {
    this.#timeZone = timeZone;
    this.#load(0);
  }

  localOf(instant: number): number {
    if (!this.#holds(instant)) this.#load(instant);
    return instant + this.#stretch.offset;
  }

  /**
   * A time that the clocks skip is interpreted with the offset before the gap, and the first of two
   * equal times is meant (RFC 5545, 3.3.5).
   */
  instantOf(local: number): number {
    const likely = local - this.#stretch.offset;
    // No clock jumps by more than a day: farther from a change there is one answer.
    if (this.#holds(likely - DAY_MS) && this.#holds(likely + DAY_MS)) return likely;
    const instant = Temporal.Instant.fromEpochMilliseconds(local)
      .toZonedDateTimeISO('UTC')
      .toPlainDateTime()
      .toZonedDateTime(this.#timeZone, { disambiguation: 'compatible' }).epochMilliseconds;
    this.#load(instant);
    return instant;
  }

  #holds(instant: number): boolean {
    return instant >= this.#stretch.from && instant < this.#stretch.until;
  }

  #load(instant: number): void {
    const time = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(this.#timeZone);
    this.#stretch = {
      from: time.getTimeZoneTransition('previous')?.epochMilliseconds ?? -Infinity,
      until: time.getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity,
      offset: time.offsetNanoseconds / 1_000_000,
    };
  }
}
