/** A record of events.raw, and the message ids of its items in their order. */
export interface RawItems {
  offset: number;
  messageIds: readonly string[];
}

/** A stored row: the item `index` of the record at `offset`. */
export interface StoredItem {
  offset: number;
  index: number;
  messageId: string;
}

/**
 * Compares records before a boundary with the rows that were stored for these offsets, backwards
 * until one agrees. `boundary`: below it no record disagrees. `isCertain`: a record agreed; without
 * one, earlier records may disagree, too.
 */
export function compareWithRows(
  records: readonly RawItems[],
  rows: readonly StoredItem[],
  boundary: number,
): { boundary: number; isCertain: boolean } {
  const rowsAt = Map.groupBy(rows, ({ offset }) => offset);
  let found = boundary;
  for (const { offset, messageIds } of records.toSorted((a, b) => b.offset - a.offset)) {
    const own = rowsAt.get(offset);
    if (!own || offset >= boundary) continue;
    if (own.every(({ index, messageId }) => messageIds[index] === messageId))
      return { boundary: found, isCertain: true };
    found = offset;
  }
  return { boundary: found, isCertain: false };
}
