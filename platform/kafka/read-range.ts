import { withDeadline } from '../deadline.ts';
import type { KafkaSettings } from './connection.ts';
import type { ConsumedMessage } from './consumer.ts';
import { consumeDetached, leaveDetached, openDetached } from './detached-consumer.ts';

/** Offsets `from` (included) to `to` (not included) of one partition. */
export interface LogRange {
  topic: string;
  partition: number;
  from: number;
  to: number;
}

/** The log has dropped the beginning of the range, before or while it was read. */
export class RangeGone extends Error {
  readonly firstKept: number;
  constructor({ topic, partition, from }: LogRange, firstKept: number) {
    super(`${topic} ${partition} does not hold offset ${from} any more: it begins at ${firstKept}`);
    this.name = 'RangeGone';
    this.firstKept = firstKept;
  }
}

const CLIENT = { connectMs: 10_000, prefetchKib: 32 * 1024, fetchBytes: 4 * 1024 * 1024 };
/** Records come within this time of asking for them, or the broker is taken to be away, ms. */
const SILENCE_MS = 30_000;
const POLL_MS = 200;
const MOST_RECORDS = 1000;

/**
 * Reads a range of the log in order, piece by piece, without joining a group and without
 * committing: no group's lag changes. Memory is bounded by what the client prefetches (32 MiB).
 * Rejects with RangeGone, when no broker answers for 30 s, or, within a moment, when the signal
 * aborts.
 */
export async function* readRange(options: {
  settings: KafkaSettings;
  clientId: string;
  range: LogRange;
  signal: AbortSignal;
}): AsyncGenerator<ConsumedMessage[], void, void> {
  const { range, signal } = options;
  const { topic, partition, to } = range;
  let next = range.from;
  if (next >= to) return;
  signal.throwIfAborted();
  const consumer = await openDetached({
    settings: options.settings,
    clientId: options.clientId,
    ...CLIENT,
  });
  const take = async () =>
    (await consumeDetached(consumer, {
      most: MOST_RECORDS,
      ms: POLL_MS,
    })) as unknown as ConsumedMessage[];
  try {
    consumer.assign([{ topic, partition, offset: next }]);
    let heardAt = performance.now();
    while (next < to) {
      signal.throwIfAborted();
      const messages = await withDeadline(
        { ms: SILENCE_MS, waitingFor: `records of ${topic} ${partition}` },
        take(),
      );
      if (messages.length > 0) heardAt = performance.now();
      else if (performance.now() - heardAt > SILENCE_MS)
        throw new Error(
          `no record of ${topic} ${partition} came for ${SILENCE_MS / 1000} s: see ./ravand status for the broker`,
        );
      const [first] = messages;
      if (first && first.offset !== next)
        throw new RangeGone({ ...range, from: next }, first.offset);
      const wanted = messages.filter(({ offset }) => offset < to);
      next = (wanted.at(-1)?.offset ?? next - 1) + 1;
      if (wanted.length > 0) yield wanted;
      if (wanted.length < messages.length) return;
    }
  } finally {
    await leaveDetached(consumer);
  }
}
