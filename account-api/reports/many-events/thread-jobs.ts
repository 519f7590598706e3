import { OrderedCounter } from '../funnel/many/count-ordered.ts';
import { FirstTimeCounter } from '../retention/many/count-first-time.ts';
import type { Counted, Numbers } from './counted.ts';
import type { Counting } from './many-events.ts';
import type { EventMemory } from './event-memory.ts';
import { PARTITIONS, type PartitionedEvents } from './event-partitions.ts';
import { PeopleOfPartition } from './people-of-partition.ts';
import type { EventsToRead } from './read-events.ts';

/** What a thread is asked for; it answers one after the other. */
export interface ThreadJobs {
  read: { ask: EventsToRead; answer: PartitionedEvents | 'no memory' };
  count: {
    ask: {
      memory: EventMemory;
      reads: PartitionedEvents[];
      counting: Counting;
      turn: SharedArrayBuffer;
    };
    answer: Counted;
  };
  rank: { ask: { lists: Numbers[]; ranks: number[]; max: number }; answer: number[] };
}

/** Counts the people of partitions until none is left for any thread; `turn` has one Int32. */
export function count({ memory, reads, counting, turn }: ThreadJobs['count']['ask']): Counted {
  const people = new PeopleOfPartition(memory, reads);
  const counter = counterOf(counting);
  const next = new Int32Array(turn);
  for (;;) {
    const partition = Atomics.add(next, 0, 1);
    if (partition >= PARTITIONS) break;
    people.read(partition);
    counter.add(people);
  }
  return counter.counted();
}

function counterOf(counting: Counting): OrderedCounter | FirstTimeCounter {
  switch (counting.kind) {
    case 'ordered':
      return new OrderedCounter(counting.rules);
    case 'first-time':
      return new FirstTimeCounter(counting.rules);
  }
}
