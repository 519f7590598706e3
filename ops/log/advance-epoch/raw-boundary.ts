import type { ClickHouseClient } from '@clickhouse/client';
import { decodeRecords } from '../../../events/raw/decode-record.ts';
import type { RangeReader } from '../../../platform/kafka/read-range.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { compareWithRows, type RawItems, type StoredItem } from './compare-rows.ts';

/** Records that are compared at a time, and in all. */
const WINDOW = 500;
const MAX_RECORDS = 20_000;

interface Boundary {
  partition: number;
  low: number;
  boundary: number;
  /** Epoch of the records before the boundary. */
  epochOf: (offset: number) => number;
}

/**
 * Moves a boundary of events.raw down until the record before it agrees with its stored rows: the
 * clock of a broker may have gone back, too. Rejects without Kafka or ClickHouse.
 */
export async function confirmBoundary(
  servers: { reader: RangeReader; clickhouse: ClickHouseClient },
  { partition, low, boundary: from, epochOf }: Boundary,
): Promise<number> {
  let boundary = from;
  for (let to = from; to > low && from - to < MAX_RECORDS; to -= WINDOW) {
    const records: RawItems[] = [];
    const range = { topic: TOPIC.raw, partition, from: Math.max(low, to - WINDOW), to };
    const limits = { records: WINDOW, ms: 30_000 };
    await servers.reader.search({ ...range, limits }, (message) => {
      const decoded = decodeRecords(message);
      // A row names an item by its number among all of them.
      if (decoded.every(({ state }) => state === 'decoded'))
        records.push({
          offset: message.offset,
          messageIds: decoded.flatMap((one) =>
            one.state === 'decoded' ? one.record.items.map(({ message_id }) => message_id) : [],
          ),
        });
      return undefined;
    });
    const rows = await storedItems(servers.clickhouse, { partition, records, epochOf });
    const compared = compareWithRows(records, rows, boundary);
    const isLower = compared.boundary < boundary;
    boundary = compared.boundary;
    if (compared.isCertain || (!isLower && rows.length > 0)) return boundary;
    // Nothing is stored of these records: the boundary that the append times gave stands.
    if (rows.length === 0) return boundary;
  }
  return boundary;
}

async function storedItems(
  client: ClickHouseClient,
  of: {
    partition: number;
    records: readonly RawItems[];
    epochOf: (offset: number) => number;
  },
): Promise<StoredItem[]> {
  const { partition, records, epochOf } = of;
  if (records.length === 0) return [];
  const offsets = records.map(({ offset }) => offset);
  const answer = await client.query({
    query: `SELECT _epoch, _offset, _index, message_id FROM events
      WHERE _partition = {partition:UInt16} AND _offset BETWEEN {from:UInt64} AND {to:UInt64}`,
    query_params: {
      partition,
      from: offsets.reduce((a, b) => Math.min(a, b)),
      to: offsets.reduce((a, b) => Math.max(a, b)),
    },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0, max_execution_time: 300 },
  });
  const rows = await answer.json<[number, number, number, string]>();
  return rows
    .filter(([epoch, offset]) => epoch === epochOf(offset))
    .map(([, offset, index, messageId]) => ({ offset, index, messageId }));
}
