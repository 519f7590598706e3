/** For claims backfilled from rows without an acceptance; equal to no acceptance. */
export const UNKNOWN_ACCEPTANCE = 0;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Seed from the gateway process; compute it once per raw record. */
export function gatewaySeed(gateway: string): number {
  let seed = FNV_OFFSET;
  for (let at = 0; at < gateway.length; at += 1)
    seed = Math.imul(seed ^ gateway.charCodeAt(at), FNV_PRIME);
  return seed >>> 0;
}

/**
 * 32 bits that identify one acceptance of one event. They distinguish an acceptance that was
 * published twice (the spool retries after an ambiguous error) from a duplicate sent by a client. A
 * collision only miscounts: one duplicate in 2^32 is counted as a repeat.
 */
export function acceptanceHash(seed: number, sequence: number): number {
  const high = Math.floor(sequence / 0x1_0000_0000);
  let mixed = mix(seed ^ mix(sequence >>> 0)) ^ high;
  mixed = mix(mixed);
  return mixed === UNKNOWN_ACCEPTANCE ? 1 : mixed;
}

/** murmur3's finaliser: every input bit affects every output bit. */
function mix(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
