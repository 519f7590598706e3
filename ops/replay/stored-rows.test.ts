import { expect, it } from 'vitest';
import { eventRowCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { differingColumns, rowTexts } from './stored-rows.ts';

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;

it('two rows are equal whatever the order of their properties, and the differing columns are named', () => {
  const row = {
    ...EMPTY,
    event: 'x',
    properties: { a: '1', b: '\ud800' },
    property_numbers: { n: 2.5 },
  };
  expect(
    differingColumns(rowTexts(row), rowTexts({ ...row, properties: { b: '\ufffd', a: '1' } })),
  ).toEqual([]);
  expect(
    differingColumns(
      rowTexts(row),
      rowTexts({ ...row, property_numbers: { n: 2 }, city: 'تهران' }),
    ),
  ).toEqual(['property_numbers', 'city']);
  // Traits go to the profile: there is no such column.
  expect(differingColumns(rowTexts(row), rowTexts({ ...row, traits: { t: '1' } }))).toEqual([]);
});
