import { expect, it, describe } from 'vitest';
import { objectName, parseObjectName, type ArchivedObject } from './object-names.ts';
import { contiguousEnd, epochParts, planRestore } from './plan.ts';

const object = (epoch: number, first: number, last: number): ArchivedObject => {
  const of = { partition: 0, epoch, first, last };
  return { name: objectName('events.raw', of), ...of };
};
const shape = (objects: ArchivedObject[]) => {
  const { pieces, ...rest } = planRestore(objects);
  const short = pieces.map(({ name, from, to }) => ({
    epoch: parseObjectName(name)?.epoch,
    from,
    to,
  }));
  return { pieces: short, ...rest };
};

describe('the archive of a partition', () => {
  it('names objects in the order of their records', () => {
    const names = [object(0, 9, 10), object(0, 11, 99), object(0, 100, 120), object(1, 50, 60)];
    expect(names.map(({ name }) => name).toSorted()).toEqual(names.map(({ name }) => name));
    expect(names.map(({ name }) => parseObjectName(name))).toEqual(names);
    expect(parseObjectName('events.raw/description/0000000000000001.json')).toBeUndefined();
  });

  it('continues behind what follows without a gap, whatever was written twice', () => {
    expect(contiguousEnd([], 5)).toBe(5);
    expect(contiguousEnd([object(0, 5, 9), object(0, 5, 7), object(0, 8, 12)], 5)).toBe(13);
    expect(contiguousEnd([object(0, 7, 9)], 5)).toBe(5);
  });

  it('never mixes records of two epochs in one object', () => {
    const starts = [
      { epoch: 1, firstOffset: 50 },
      { epoch: 2, firstOffset: 20 },
    ];
    expect(epochParts(starts, { next: 0, end: 100 })).toEqual([
      { epoch: 0, from: 0, to: 20 },
      { epoch: 2, from: 20, to: 50 },
      { epoch: 2, from: 50, to: 100 },
    ]);
    expect(epochParts([], { next: 3, end: 3 })).toEqual([]);
  });

  it('is restored with each offset once, from the newest epoch', () => {
    const objects = [object(0, 0, 49), object(0, 50, 99), object(1, 60, 79), object(2, 70, 120)];
    expect(shape(objects)).toEqual({
      pieces: [
        { epoch: 0, from: 0, to: 50 },
        { epoch: 0, from: 50, to: 60 },
        { epoch: 1, from: 60, to: 70 },
        { epoch: 2, from: 70, to: 121 },
      ],
      ...{ gaps: [], low: 0, high: 121 },
    });
  });

  it('takes overlapping objects of two processes once', () => {
    expect(shape([object(0, 0, 9), object(0, 0, 19), object(0, 10, 14)])).toEqual({
      pieces: [
        { epoch: 0, from: 0, to: 10 },
        { epoch: 0, from: 10, to: 20 },
      ],
      ...{ gaps: [], low: 0, high: 20 },
    });
  });

  it('names the offsets of an object that is gone', () => {
    expect(shape([object(0, 5, 9), object(0, 20, 29)]).gaps).toEqual([{ from: 10, to: 20 }]);
    expect(shape([])).toEqual({ pieces: [], gaps: [], low: 0, high: 0 });
  });
});
