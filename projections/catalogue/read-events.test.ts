import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rowBatchCodec } from '../../schemas/codec.ts';
import { anyRow } from '../../schemas/testing/any-event-row.ts';
import { CatalogueCounter } from './count.ts';
import { readCountedEvents } from './read-events.ts';

const HEAD = {
  ...{ epoch: 0, partition: 0, first_offset: 0, first_index: 0 },
  ...{ last_offset: 0, last_index: 0, appended_at: 0 },
};
const few = fc.record({
  account_id: fc.constantFrom(1, 2),
  event: fc.constantFrom('a', 'خرید', 'x'.repeat(40)),
  timestamp: fc.constantFrom(1_790_000_000_000, 1_790_080_000_000),
  properties: fc.dictionary(fc.constantFrom('a', 'b', 'c', '1', '', 'y'.repeat(40)), fc.string(), {
    noNullPrototype: true,
  }),
});

it('the catalogue of what is read of events is that of whole events', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyRow, few), { minLength: 1, maxLength: 12 }), (drawn) => {
      const rows = drawn.map(([row, changes], index) => ({
        ...{ ...row, ...changes },
        ...{ _epoch: 0, _partition: 0, _offset: 7, _index: index },
      }));
      const value = rowBatchCodec.encode({ ...HEAD, rows });
      const [read, whole] = [new CatalogueCounter(0), new CatalogueCounter(0)];
      read.add(3, readCountedEvents({ value }));
      whole.add(3, rowBatchCodec.decode(value).rows);
      expect(read.changed()).toEqual(whole.changed());
    }),
    { numRuns: 60 },
  );
});
