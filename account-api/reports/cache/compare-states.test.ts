import { describe, expect, it } from 'vitest';
import { changeBetween, holdSameRows, partsOfChangedMonths } from './compare-states.ts';
import type { DataState } from './data-state.ts';

const STATE: DataState = {
  ...{ tables: 'u', parts: ['202610_1_1_0', '202611_2_2_0'], profiles: '', identities: '0 ' },
  mutation: '0',
};

describe('between two states', () => {
  it('nothing has changed when all parts are the same', () => {
    const parts = STATE.parts.toReversed();
    expect(changeBetween(STATE, { ...STATE, parts })).toEqual({ kind: 'none' });
  });

  it.each(['tables', 'profiles', 'identities', 'mutation'] as const)(
    'the data has changed when %s has, whatever the parts are',
    (field) => {
      expect(changeBetween(STATE, { ...STATE, [field]: 'another' })).toEqual({ kind: 'data' });
    },
  );

  it('a merge and an insert are gone and added parts', () => {
    const later = { ...STATE, parts: ['202610_1_1_0', '202611_2_3_1', '202611_4_4_0'] };
    expect(changeBetween(STATE, later)).toEqual({
      kind: 'parts',
      gone: ['202611_2_2_0'],
      added: ['202611_2_3_1', '202611_4_4_0'],
    });
  });
});

describe('the rows are the same', () => {
  const change = { gone: ['x', 'y'], added: ['z'] };
  it.each<[string, [string, number][], boolean]>([
    [
      'when the added part has as many as the gone ones',
      [
        ['x', 2],
        ['y', 3],
        ['z', 5],
      ],
      true,
    ],
    [
      'not when it has more',
      [
        ['x', 2],
        ['y', 3],
        ['z', 6],
      ],
      false,
    ],
    [
      'not when a gone part was not counted',
      [
        ['x', 2],
        ['z', 2],
      ],
      false,
    ],
    [
      'not when the added part was not counted',
      [
        ['x', 0],
        ['y', 0],
      ],
      false,
    ],
  ])('%s', (_, counts, expected) => {
    expect(holdSameRows(change, new Map(counts))).toBe(expected);
  });
});

it('only the parts of months in which a part changed are counted', () => {
  const change = { gone: ['202611_2_2_0'], added: ['202611_2_3_1'] };
  expect(partsOfChangedMonths(['202610_1_1_0', '202611_2_3_1', '202611_4_4_0'], change)).toEqual([
    '202611_2_3_1',
    '202611_4_4_0',
  ]);
});
