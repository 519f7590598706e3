import { describe, expect, it } from 'vitest';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { joinRowBatch } from '../../schemas/row-batch.ts';
import { NEWEST_ROW_VERSION, ROW_VERSIONS, rowVersion } from '../../schemas/row-versions.ts';
import { readEvents } from '../../projections/profiles/read-events.ts';
import { rowsFor } from './row-fields.ts';

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;
const rows = [0, 1, 2].map((index): EventRow => ({
  ...EMPTY,
  ...{ _epoch: 1, _partition: 3, _offset: 7, _index: index, account_id: 5, event: 'خرید' },
  ...{ user_id: `u${index}`, message_id: `m${index}`, _dedupe_id: index === 2 ? 'd' : '' },
  ...{ timestamp: 1_790_000_000_000, received_at: 1_790_000_000_001 + index, revenue: 2.5 },
  ...{ properties: { a: 'x' }, traits: { plan: 'gold' }, trait_numbers: { level: 3 } },
}));

/** A record of events.normalised whose rows are of a version of event-row. */
function recordOf(version: number): Buffer {
  const { type } = rowVersion(version);
  const head = {
    ...{ epoch: 1, partition: 3, first_offset: 7, first_index: 0 },
    ...{ last_offset: 7, last_index: 2, appended_at: 1 },
  };
  const datums = Buffer.concat(rows.map((row) => type.toBuffer(row)));
  return joinRowBatch({ version, head, count: rows.length, rows: datums });
}

const READ = {
  events: rowsFor('events')?.normalised,
  profiles: rowsFor('profiles')?.normalised,
};

describe('the rows that a rebuild reads from events.normalised', () => {
  it('are the bytes of the whole rows, for events', () => {
    const read = READ.events?.(recordOf(NEWEST_ROW_VERSION)) ?? [];
    const copied = read.map((row) =>
      'encoded' in row
        ? row.encoded.bytes.subarray(row.encoded.from, row.encoded.to).toString('hex')
        : 'whole',
    );
    expect(copied).toEqual(rows.map((row) => eventRowCodec.type.toBuffer(row).toString('hex')));
    expect(
      read.map(({ message_id, _dedupe_id, received_at }) => [message_id, _dedupe_id, received_at]),
    ).toEqual(
      rows.map(({ message_id, _dedupe_id, received_at }) => [message_id, _dedupe_id, received_at]),
    );
  });

  it.each(ROW_VERSIONS.filter(({ version }) => version < NEWEST_ROW_VERSION))(
    'are whole rows with the fields of the newest version, for events of version $version',
    ({ version }) => {
      const value = recordOf(version);
      expect(READ.events?.(value)).toEqual(rowBatchCodec.decode(value).rows);
    },
  );

  it.each(ROW_VERSIONS)(
    'have what the fold of the service reads, for profiles of version $version',
    ({ version }) => {
      const value = recordOf(version);
      expect(READ.profiles?.(value)).toMatchObject(readEvents({ value }));
    },
  );

  it('are unknown when the record is damaged', () => {
    const damaged = recordOf(NEWEST_ROW_VERSION).subarray(0, 60);
    expect(READ.events?.(damaged)).toBeUndefined();
    expect(READ.profiles?.(damaged)).toBeUndefined();
    expect(READ.profiles?.(null)).toBeUndefined();
  });
});
