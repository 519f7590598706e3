const LARGEST = 2n ** 63n - 1n;

/**
 * The id in a path: digits of a positive integer that the database can hold; undefined for anything
 * else. Kept as text, which no rounding touches.
 */
export function pathId(text: string | undefined): string | undefined {
  if (text === undefined || !/^\d{1,20}$/.test(text)) return undefined;
  const id = BigInt(text);
  return id > 0n && id <= LARGEST ? id.toString() : undefined;
}
