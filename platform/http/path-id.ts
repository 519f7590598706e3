const MAX_ID = 2n ** 63n - 1n;

/**
 * The id in a path: digits of a positive integer that the database can hold; undefined for anything
 * else. Kept as text, because a number would round it.
 */
export function pathId(text: string | undefined): string | undefined {
  if (text === undefined || !/^\d{1,20}$/.test(text)) return undefined;
  const id = BigInt(text);
  return id > 0n && id <= MAX_ID ? id.toString() : undefined;
}

/** The same as a number: without leading zeros, and only ids that a number holds exactly. */
export function numericPathId(text: string | undefined): number | undefined {
  const id = pathId(text);
  return id === text && Number.isSafeInteger(Number(id)) ? Number(id) : undefined;
}
