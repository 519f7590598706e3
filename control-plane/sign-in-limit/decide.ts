import { ipv6Groups } from '../../platform/network/ipv6-groups.ts';

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

/**
 * The network of a client: an IPv4 /24 or an IPv6 /56, which is what one customer of a provider
 * can choose addresses from. IPv4 in IPv6 counts as IPv4.
 */
export function networkOf(ip: string): string {
  if (!ip.includes(':')) return ip === '' ? '' : ipv4Network(ip.split('.').map(Number));
  const [a = 0, b = 0, c = 0, d = 0, ...rest] = ipv6Groups(ip.split('%')[0] ?? '');
  const [e = 0, f = 0, high = 0, low = 0] = rest;
  if ((a | b | c | d | e) === 0 && f === 0xffff)
    return ipv4Network([high >> 8, high & 255, low >> 8]);
  const network = [a, b, c, d & 0xff00].map((group) => group.toString(16));
  return `${network.join(':')}::/56`;
}

function ipv4Network([a = 0, b = 0, c = 0]: readonly number[]): string {
  return `${a}.${b}.${c}.0/24`;
}
