/** Bit n as PostgreSQL's get_bit numbers it: from the lowest bit of the first byte on. */
export type Bits = Buffer;

export function emptyBits(count: number): Bits {
  return Buffer.alloc(Math.ceil(count / 8));
}

export function hasBit(bits: Bits, index: number): boolean {
  return ((bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
}

/** A copy with some bits set and others cleared. */
export function withBits(
  bits: Bits,
  { set = [], clear = [] }: { set?: Iterable<number>; clear?: Iterable<number> },
): Bits {
  const copy = Buffer.from(bits);
  for (const index of clear) copy[index >> 3] = (copy[index >> 3] ?? 0) & ~(1 << (index & 7));
  for (const index of set) copy[index >> 3] = (copy[index >> 3] ?? 0) | (1 << (index & 7));
  return copy;
}

export function countBits(bits: Bits): number {
  let count = 0;
  // By index: an iterator makes an object of each byte, and chunks are counted with every write.
  for (let at = 0; at < bits.length; at++)
    for (let rest = bits[at] ?? 0; rest > 0; rest &= rest - 1) count++;
  return count;
}
