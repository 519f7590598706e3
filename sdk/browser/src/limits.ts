// How much and how long. The bundler puts the values where they are used.

/** Events that wait, about 2 MB: a page needs its storage when the host is blocked for ever. */
export const MAX_WAITING = 3000;
/** A page looks for too many at its first call and then after so many. */
export const CHECK_EVERY = 50;
/** The host remembers message ids for 48 hours: an event sent earlier may become a second one. */
export const REPEATABLE_MS = 47 * 3_600_000;

/** In a key: of the identifier of a call, with the prefix. */
export const CALL_DIGITS = 37;
/** Of the time of the first attempt: a value never grows, so that a full storage takes it. */
export const ATTEMPT_DIGITS = 13;
/** It was not attempted. */
export const NEVER = '             ';

/** Of a batch. */
export const MAX_ITEMS = 100;
export const MAX_BYTES = 500_000;
/** Browsers take 64 KiB of requests that outlive their page, all together. */
export const MAX_LEAVING_BYTES = 60_000;
export const TIMEOUT_MS = 30_000;
/** All pages see what was written so long ago, mostly after less than 1 ms. */
export const SEEN_MS = 500;

/** A session ends after so long without a call, and when it is a day old, ms. */
export const MAX_IDLE_MS = 1_800_000;
export const MAX_SESSION_MS = 86_400_000;

/** Of a key of the books: the prefix, and the time without its last 100 s (until the year 2286). */
export const PERIOD_DIGITS = 9;
/** All pages see what was written in a period that contains a time so long ago, or is older. */
export const ENDED_MS = 200_000;
/** More entries than these are added up when their periods have ended. */
export const MAX_ENTRIES = 50;
