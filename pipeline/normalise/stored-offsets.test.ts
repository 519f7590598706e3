import { describe, expect, it } from 'vitest';
import { StoredOffsets } from './stored-offsets.ts';

function setUp() {
  const kafka = { committed: 0, end: 0, stored: 0 };
  const reads: string[] = [];
  const offsets = new StoredOffsets({
    committed: () => {
      reads.push('committed');
      return Promise.resolve(new Map([[0, kafka.committed]]));
    },
    normalised: () => {
      reads.push('ends');
      return Promise.resolve(new Map([[0, { low: 0, high: kafka.end }]]));
    },
    unstored: (ends) => Promise.resolve(Math.max(0, (ends.get(0)?.high ?? 0) - kafka.stored)),
  });
  return { kafka, reads, offsets };
}

describe('what is stored', () => {
  it('is what was committed before the ends were read, once the sink has stored these ends', async () => {
    const { kafka, reads, offsets } = setUp();
    Object.assign(kafka, { committed: 5, end: 7, stored: 6 });
    await offsets.look();
    expect(reads).toEqual(['committed', 'ends']);
    Object.assign(kafka, { committed: 9, end: 12 });
    await offsets.look();
    expect([...offsets.stored]).toEqual([]);
    kafka.stored = 7;
    await offsets.look();
    expect([...offsets.stored]).toEqual([[0, 5]]);
    kafka.stored = 12;
    await offsets.look();
    expect([...offsets.stored]).toEqual([[0, 9]]);
  });

  it('is unknown again when the claims are loaded, also to a look that began before', async () => {
    const { kafka, offsets } = setUp();
    Object.assign(kafka, { committed: 5, end: 5, stored: 5 });
    await offsets.look();
    const looking = offsets.look();
    offsets.forget();
    await looking;
    expect([...offsets.stored]).toEqual([]);
    Object.assign(kafka, { committed: 3, end: 3, stored: 3 });
    await offsets.look();
    await offsets.look();
    expect([...offsets.stored]).toEqual([[0, 3]]);
  });
});
