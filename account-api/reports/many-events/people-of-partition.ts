import { ROW_NUMBERS, type EventMemory } from './event-memory.ts';
import { eachPage, type PartitionedEvents } from './event-partitions.ts';

/**
 * Events of a partition by person: each person has a number from 0 on. The arrays are used again
 * for the next partition.
 */
export class PeopleOfPartition {
  readonly #memory: Uint32Array;
  readonly #reads: readonly PartitionedEvents[];
  /**
   * Open addressing, at a place that the lower half of the hash decides: that half, and the
   * person's number + 1, 0 for an empty place.
   */
  #places = new Int32Array(2 * 4096);
  /** By number + 1: the upper half of the hash. There are as many as places. */
  #upper = new Uint32Array(4096);
  /** People of the partition. */
  count = 0;
  /** Events of the partition. */
  events = 0;
  /** By event: the person's number. */
  people = new Int32Array(0);
  /** By event: the key, and its lower half. */
  keys = new Float64Array(0);
  lower = new Int32Array(0);
  /** By number + 1: all bits of the lower halves of the person's keys. */
  bits = new Int32Array(4096);

  /** @param reads what all threads have read */
  constructor(memory: EventMemory, reads: readonly PartitionedEvents[]) {
    this.#memory = new Uint32Array(memory.bytes);
    this.#reads = reads;
  }

  read(partition: number): void {
    const events = this.#reads.reduce((sum, { counts }) => sum + (counts[partition] ?? 0), 0);
    if (this.people.length < events) {
      const size = Math.ceil(events * 1.25);
      this.people = new Int32Array(size);
      this.keys = new Float64Array(size);
      this.lower = new Int32Array(size);
    }
    [this.count, this.events] = [0, 0];
    this.#places.fill(0);
    for (const read of this.#reads)
      eachPage(read, partition, (from, to) => {
        // half of the places stay empty
        while (2 * (this.count + to - from) > this.#upper.length) this.#grow();
        this.#add(from, to);
      });
  }

  /** Calls nothing in between: after a call V8 reads again where each array lies, for each row. */
  #add(from: number, to: number): void {
    const [memory, people, keys, lower] = [this.#memory, this.people, this.keys, this.lower];
    const [places, uppers, bits] = [this.#places, this.#upper, this.bits];
    const mask = places.length / 2 - 1;
    let [event, count] = [this.events, this.count];
    for (let row = from; row < to; row++, event++) {
      const at = ROW_NUMBERS * row;
      const low = (memory[at] as number) | 0;
      const upper = memory[at + 1] as number;
      const key = memory[at + 2] as number;
      let place = low & mask;
      let person = places[2 * place + 1] as number;
      while (person !== 0 && (places[2 * place] !== low || uppers[person] !== upper)) {
        place = (place + 1) & mask;
        person = places[2 * place + 1] as number;
      }
      if (person === 0) {
        person = ++count;
        places[2 * place] = low;
        places[2 * place + 1] = person;
        uppers[person] = upper;
        bits[person] = key;
      } else (bits[person] as number) |= key;
      people[event] = person - 1;
      keys[event] = (memory[at + 3] as number) * 2 ** 32 + key;
      lower[event] = key;
    }
    [this.events, this.count] = [event, count];
  }

  /** Twice as many places. */
  #grow(): void {
    const size = this.#places.length;
    const [old, places, mask] = [this.#places, new Int32Array(2 * size), size - 1];
    for (let from = 0; from < size; from += 2) {
      if (old[from + 1] === 0) continue;
      const low = old[from] ?? 0;
      let place = low & mask;
      while (places[2 * place + 1] !== 0) place = (place + 1) & mask;
      places[2 * place] = low;
      places[2 * place + 1] = old[from + 1] ?? 0;
    }
    const [upper, bits] = [new Uint32Array(size), new Int32Array(size)];
    upper.set(this.#upper);
    bits.set(this.bits);
    [this.#places, this.#upper, this.bits] = [places, upper, bits];
  }
}
