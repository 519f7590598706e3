import { ipv6Groups } from '../../platform/network/ipv6-groups.ts';

/** How guesses of one kind are slowed down. */
export interface GuessPolicy {
  /** Failures that cost no pause. */
  free: number;
  /** Pause after the first failure that is not free, ms; each further one doubles it. */
  first: number;
  /** Longest pause, ms. */
  longest: number;
  /**
   * Failures are forgotten after this long without another one, ms; longer than the longest pause.
   */
  memory: number;
}

const MINUTE = 60_000;

/**
 * Of one e-mail address: about 300 guesses a day at most, and its owner waits five minutes at most.
 * Remembered no longer, because it would let no fewer guesses through.
 */
export const EMAIL_POLICY: GuessPolicy = {
  free: 4,
  first: 1000,
  longest: 5 * MINUTE,
  memory: 60 * MINUTE,
};
/**
 * Of one network address, over all e-mail addresses: an office behind one address still gets its
 * people in.
 */
export const ADDRESS_POLICY: GuessPolicy = {
  free: 99,
  first: 1000,
  longest: 5 * MINUTE,
  memory: 60 * MINUTE,
};

/** Pauses in ms after the 1st, 2nd, … failure; what comes after the last one pauses as long. */
export function pausesOf({ free, first, longest }: GuessPolicy): number[] {
  const pauses = Array<number>(free).fill(0);
  for (let pause = first; pause < longest; pause *= 2) pauses.push(pause);
  return [...pauses, longest];
}

/**
 * What counts as one network address: a version 4 address, or the /64 of a version 6 one, because a
 * single customer gets at least that many.
 */
export function networkOf(ip: string): string {
  if (!ip.includes(':')) return ip;
  const network = ipv6Groups(ip).slice(0, 4);
  return `${network.map((group) => group.toString(16)).join(':')}::/64`;
}
