import type { Batch } from './post.ts';

export interface OrderedItem {
  /** Items with the same key are sent in order, one batch after another. */
  orderKey: string;
  userAgent: string | undefined;
  item: object;
}

/**
 * Cuts items into batches by order key and user agent, in order. All items of a person have the
 * same key: a batch is sent after the answer to the previous one, and a person's events keep their
 * order (ARCHITECTURE.md, G3).
 */
export function orderedBatches(items: Iterable<OrderedItem>, size: number): Batch[][] {
  const byKey = new Map<
    string,
    { batches: { items: object[]; userAgent: string | undefined }[] }
  >();
  for (const { orderKey, userAgent, item } of items) {
    const found = byKey.get(orderKey) ?? { batches: [] };
    byKey.set(orderKey, found);
    const last = found.batches.at(-1);
    if (last && last.items.length < size && last.userAgent === userAgent) last.items.push(item);
    else found.batches.push({ items: [item], userAgent });
  }
  return [...byKey.values()].map(({ batches }) => batches);
}

/** Sends several sequences in parallel, each in order. The first error stops all. */
export async function sendOrderedBatches(
  sequences: readonly Batch[][],
  options: { parallel: number },
  send: (batch: Batch) => Promise<void>,
): Promise<void> {
  const rest = sequences.values();
  const worker = async () => {
    for (const sequence of rest) for (const batch of sequence) await send(batch);
  };
  await Promise.all(Array.from({ length: options.parallel }, worker));
}
