import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';

const BATCH_ROWS = 100;
const EMPTY = emptyRow();

interface Origin {
  accountId: number;
  partition: number;
}

/** A row with an empty value in every field. */
function emptyRow(): EventRow {
  const { fields } = eventRowCodec.type.schema() as unknown as {
    fields: { name: string; type: unknown }[];
  };
  const empty: Record<string, unknown> = { string: '', boolean: false };
  return Object.fromEntries(
    fields.map(({ name, type }) => [name, typeof type === 'string' ? (empty[type] ?? 0) : {}]),
  ) as unknown as EventRow;
}

/** An order of one of 500 people. */
export function orderRow({ accountId, partition }: Origin, offset: number): EventRow {
  return {
    ...EMPTY,
    ...{
      _epoch: 0,
      _partition: partition,
      _offset: offset,
      _index: 0,
      account_id: accountId,
      event: 'order_completed',
      user_id: `user-${offset % 500}`,
      anonymous_id: '',
    },
    ...{
      message_id: `0192f3c1-77aa-7c3e-9d52-${String(offset).padStart(12, '0')}`,
      timestamp: 1_795_255_200_000 + offset,
      received_at: 1_795_255_200_000,
    },
    properties: {
      order_id: `A-${offset}`,
      title: 'کفش ورزشی مردانه',
      category: 'Sport and outdoor',
      total: String(1_250_000 + offset),
      in_stock: 'true',
    },
    property_numbers: { total: 1_250_000 + offset, in_stock: 1 },
  };
}

/** Records of events.normalised with so many orders, 100 in each. */
export function rowBatches(of: Origin & { events: number }): ConsumedMessage[] {
  const { partition, events } = of;
  return Array.from({ length: Math.ceil(events / BATCH_ROWS) }, (_, n) => {
    const rows = Array.from({ length: Math.min(BATCH_ROWS, events - n * BATCH_ROWS) }, (__, at) =>
      orderRow(of, n * BATCH_ROWS + at),
    );
    const head = {
      epoch: 0,
      partition,
      first_offset: n * BATCH_ROWS,
      first_index: 0,
      last_offset: n * BATCH_ROWS + rows.length - 1,
      last_index: 0,
      appended_at: 0,
    };
    const value = rowBatchCodec.encode({ ...head, rows });
    return {
      topic: 'bench',
      partition,
      offset: n,
      timestamp: 0,
      key: null,
      value,
      size: value.length,
    };
  });
}
