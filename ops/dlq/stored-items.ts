import type { ClickHouseClient } from '@clickhouse/client';

/** Position of a raw record and the sorting key of its rows; `receivedAt` in ms since the epoch. */
export interface RawRecordPosition {
  accountId: number;
  receivedAt: number;
  epoch: number;
  partition: number;
  offset: number;
}

/** Items of raw records whose rows are stored under their positions, by positionKey. */
export type StoredItems = ReadonlyMap<string, readonly number[]>;

export function positionKey({ epoch, partition, offset }: RawRecordPosition): string {
  return `${epoch}/${partition}/${offset}`;
}

/** Asks for all positions in one query. */
export async function storedItems(
  client: ClickHouseClient,
  positions: readonly RawRecordPosition[],
): Promise<StoredItems> {
  const listed = (values: readonly string[]) => [...new Set(values)].join(', ');
  const places = positions.map(
    ({ epoch, partition, offset }) => `(${epoch}, ${partition}, ${offset})`,
  );
  const times = positions.map(
    ({ receivedAt }) => `fromUnixTimestamp64Milli(${Math.trunc(receivedAt)}, 'UTC')`,
  );
  const answer = await client.query({
    query: `SELECT _epoch, _partition, _offset, _index FROM events
      WHERE account_id IN (${listed(positions.map(({ accountId }) => String(accountId)))})
        AND received_at IN (${listed(times)}) AND (_epoch, _partition, _offset) IN (${listed(places)})`,
    format: 'JSONCompactEachRow',
    clickhouse_settings: {
      ...{ max_execution_time: 60, max_query_size: '4194304' },
      output_format_json_quote_64bit_integers: 0,
    },
  });
  const found = new Map<string, number[]>();
  for (const [epoch, partition, offset, index] of await answer.json<
    [number, number, number, number]
  >()) {
    const key = `${epoch}/${partition}/${offset}`;
    const items = found.get(key);
    if (items) items.push(index);
    else found.set(key, [index]);
  }
  return found;
}

/** Answers all that ask within one turn of the event loop from one query. */
export function storedItemsLoader(
  load: (positions: readonly RawRecordPosition[]) => Promise<StoredItems>,
): (position: RawRecordPosition) => Promise<readonly number[]> {
  let open: { positions: RawRecordPosition[]; answer: Promise<StoredItems> } | undefined;
  return async (position) => {
    if (!open) {
      const positions: RawRecordPosition[] = [];
      const answer = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        open = undefined;
        return load(positions);
      });
      open = { positions, answer };
    }
    open.positions.push(position);
    return (await open.answer).get(positionKey(position)) ?? [];
  };
}
