import type { Batch } from './post.ts';

export interface OrderedItem {
  /** Items of one lane key are sent one after another, in order. */
  lane: string;
  userAgent: string | undefined;
  item: object;
}

/**
 * Cuts items into batches per lane key and user agent, in order. Whatever belongs to one person has
 * one lane key, so that each batch is sent after the answer to the one before, and a person's
 * events keep their order (promise 3).
 */
export function batchesOf(items: Iterable<OrderedItem>, size: number): Batch[][] {
  const lanes = new Map<
    string,
    { batches: { items: object[]; userAgent: string | undefined }[] }
  >();
  for (const { lane, userAgent, item } of items) {
    const found = lanes.get(lane) ?? { batches: [] };
    lanes.set(lane, found);
    const last = found.batches.at(-1);
    if (last && last.items.length < size && last.userAgent === userAgent) last.items.push(item);
    else found.batches.push({ items: [item], userAgent });
  }
  return [...lanes.values()].map((lane) => lane.batches);
}

/**
 * Works lanes off, several at a time; within a lane one batch after another. The first error stops
 * all.
 */
export async function sendOrderedBatches(
  lanes: readonly Batch[][],
  options: { parallel: number },
  send: (batch: Batch) => Promise<void>,
): Promise<void> {
  const rest = lanes.values();
  const worker = async () => {
    for (const lane of rest) for (const batch of lane) await send(batch);
  };
  await Promise.all(Array.from({ length: options.parallel }, worker));
}
