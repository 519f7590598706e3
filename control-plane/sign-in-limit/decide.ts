/** Growing pauses after failed sign-ins. */
export interface SignInLimitPolicy {
  /** Failures without a pause. */
  freeFailures: number;
  /** Pause after the first further failure, ms; each one after it doubles the pause. */
  firstPause: number;
  /** Maximum pause, ms. */
  maxPause: number;
  /** Failures are deleted after this long without another one, ms; longer than maxPause. */
  retention: number;
}

const MINUTE = 60_000;

/**
 * Per e-mail address and network: about 300 guesses a day. Not per e-mail address alone: a stranger
 * who guesses from another network must not lock its owner out. A longer retention would not reduce
 * the guesses.
 */
export const EMAIL_POLICY: SignInLimitPolicy = {
  freeFailures: 4,
  firstPause: 1000,
  maxPause: 5 * MINUTE,
  retention: 60 * MINUTE,
};
/** Per network, over all e-mail addresses: high enough for an office behind one address. */
export const NETWORK_POLICY: SignInLimitPolicy = {
  freeFailures: 99,
  firstPause: 1000,
  maxPause: 5 * MINUTE,
  retention: 60 * MINUTE,
};

/** Pauses in ms after the 1st, 2nd, … failure; the last one applies to all further failures. */
export function pausesOf({ freeFailures, firstPause, maxPause }: SignInLimitPolicy): number[] {
  const pauses = Array<number>(freeFailures).fill(0);
  for (let pause = firstPause; pause < maxPause; pause *= 2) pauses.push(pause);
  return [...pauses, maxPause];
}
