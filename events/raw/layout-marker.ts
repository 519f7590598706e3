import { rawRecordCodec } from '../../schemas/codec.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { isJsonObject } from '../json.ts';

/** From here on the records of a partition belong to another epoch and number of partitions. */
export interface LayoutMarker {
  /** Id of the change of the layout. */
  change: string;
  epoch: number;
  partitions: number;
}

/** The Kafka key of a marker; other raw records have none. */
export const MARKER_KEY = 'ravand:layout';

/**
 * A record of events.raw without events. `./ravand log grow` writes one to each partition: readers
 * in the middle of the log learn from the log itself where the new number applies.
 */
export function encodeMarker(marker: LayoutMarker, now: number): Buffer {
  const record: RawRecord = {
    ...{ account_id: 0, app_id: 0, write_key_id: 0, received_at: now, source: 'import' },
    ...{ path: MARKER_KEY, ip: '', user_agent: '', origin: '', trace: '', gateway: '' },
    ...{ sequence: 0, shape: 'single', items: [], redriven_from: null, delivery: null },
    body: Buffer.from(JSON.stringify(marker)),
  };
  return rawRecordCodec.encode(record);
}

/** The marker that a record is; undefined for every other record. */
export function readMarker(record: {
  key: Buffer | null;
  value: Buffer | null;
}): LayoutMarker | undefined {
  if (record.key === null || record.value === null) return undefined;
  if (record.key.toString('utf8') !== MARKER_KEY) return undefined;
  const parsed: unknown = JSON.parse(rawRecordCodec.decode(record.value).body.toString('utf8'));
  if (!isJsonObject(parsed)) return undefined;
  const { change, epoch, partitions } = parsed;
  return typeof change === 'string' && typeof epoch === 'number' && typeof partitions === 'number'
    ? { change, epoch, partitions }
    : undefined;
}
