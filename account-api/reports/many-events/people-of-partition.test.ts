import { expect, it } from 'vitest';
import { clearMemory, MIN_MEMORY_BYTES, newMemory, OutOfMemory } from './event-memory.ts';
import { EventPartitions, PARTITIONS } from './event-partitions.ts';
import { PeopleOfPartition } from './people-of-partition.ts';

/** So many events in the order of their number, the person and the key of each. */
function columnsOf(events: number, hashOf: (event: number) => bigint) {
  const people = BigUint64Array.from({ length: events }, (_, event) => hashOf(event));
  const keys = BigUint64Array.from({ length: events }, (_, event) => BigInt(event) << 20n);
  return { people: new Uint32Array(people.buffer), keys: new Uint32Array(keys.buffer) };
}

function keysByPerson(people: PeopleOfPartition): number[][] {
  const found: number[][] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) {
    people.read(partition);
    const own = Array.from({ length: people.count }, (): number[] => []);
    for (let event = 0; event < people.events; event++)
      own[people.people[event] ?? -1]?.push((people.keys[event] ?? 0) / 2 ** 20);
    found.push(...own);
  }
  return found.sort((one, other) => (one[0] ?? 0) - (other[0] ?? 0));
}

/** 20,000 people in one partition, 20,000 in others; the lower halves of many hashes are equal. */
const HASHES = {
  'in one partition': (person: number) => BigInt(person) << 20n,
  'in all partitions': (person: number) =>
    (BigInt(person % PARTITIONS) << 55n) + BigInt(Math.floor(person / PARTITIONS)),
};

it.each(Object.entries(HASHES))('people %s have their events, from several readers', (_, hash) => {
  const [PEOPLE, EVENTS] = [20_000, 60_000];
  // not a whole number of pages
  const memory = newMemory(2 * MIN_MEMORY_BYTES + 1001);
  const reads = [0, 1].map((reader) => {
    const partitions = new EventPartitions(memory);
    const { people, keys } = columnsOf(EVENTS, (event) => hash((event + reader) % PEOPLE));
    partitions.add(people, keys, EVENTS / 2);
    partitions.add(people.subarray(EVENTS), keys.subarray(EVENTS), EVENTS / 2);
    return partitions.events;
  });
  const found = keysByPerson(new PeopleOfPartition(memory, reads));
  expect(found).toHaveLength(PEOPLE);
  for (const [person, keys] of found.entries()) {
    const other = (person + PEOPLE - 1) % PEOPLE;
    expect(keys).toEqual([
      ...[person, person + PEOPLE, person + 2 * PEOPLE],
      ...[other, other + PEOPLE, other + 2 * PEOPLE],
    ]);
  }
});

it('more events than the memory holds are refused, and cleared memory holds them again', () => {
  const memory = newMemory(MIN_MEMORY_BYTES);
  const events = MIN_MEMORY_BYTES / 16 / 2;
  const { people, keys } = columnsOf(events, (event) => BigInt(event));
  const fill = () => new EventPartitions(memory).add(people, keys, events);
  fill();
  expect(() => {
    fill();
    fill();
  }).toThrow(OutOfMemory);
  clearMemory(memory);
  fill();
});
