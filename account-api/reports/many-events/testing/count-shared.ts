import type { Counted } from '../counted.ts';
import { EventCounter } from '../event-counter.ts';
import { clearMemory, newMemory, type EventMemory } from '../event-memory.ts';
import type { Counting } from '../many-events.ts';
import { MIN_MEMORY_BYTES, PARTITIONS } from '../memory-layout.ts';

/** As threads share the memory of a report, which is cleared: here one after the other. */
export function countersOf(memory: EventMemory): EventCounter[] {
  clearMemory(memory);
  return memory.layout.threads.map((_, thread) => new EventCounter(memory, thread));
}

/** What each counter counts: every other partition, where there are two. */
export function sharesOf(counters: readonly EventCounter[], counting: Counting): Counted[] {
  return counters.map((counter, first) =>
    counter.count(
      counting,
      Array.from({ length: PARTITIONS / counters.length }, (_, at) => first + counters.length * at),
    ),
  );
}

/** The counts of all shares together. */
export function summedCounts(shares: readonly Counted[]): Float64Array<ArrayBuffer>[] {
  return (shares[0]?.counts ?? []).map((own, at) =>
    own.map((_, index) => shares.reduce((sum, one) => sum + (one.counts[at]?.[index] ?? 0), 0)),
  );
}

let small: EventMemory | undefined;

/** One for all reports of a test file: the system gives address space slowly. */
export function smallMemory(): EventMemory {
  return (small ??= newMemory(MIN_MEMORY_BYTES, 2));
}
