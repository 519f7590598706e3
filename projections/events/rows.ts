import avsc from 'avsc';
import { eventRowCodec } from '../../schemas/codec.ts';
import type { PartitionPosition } from '../../schemas/log-position.ts';

/**
 * A row as the slow path sees it: what finds it in ClickHouse, what names it in a dead letter, and
 * its datum.
 */
export interface Row {
  mark: PartitionPosition;
  account_id: number;
  event: string;
  message_id: string;
  /** ms since the epoch */
  timestamp: number;
  datum: Buffer;
}

const NEEDED = ['_epoch', '_offset', '_index', 'account_id', 'event', 'message_id', 'timestamp'];
const whole = eventRowCodec.type.schema() as {
  name: string;
  fields: { name: string; type: avsc.Schema }[];
};
const needed = avsc.Type.forSchema({
  type: 'record',
  name: whole.name,
  fields: whole.fields.filter(({ name }) => NEEDED.includes(name)),
});
const resolver = needed.createResolver(eventRowCodec.type);

interface Needed {
  _epoch: number;
  _offset: number;
  _index: number;
  account_id: number;
  event: string;
  message_id: string;
  timestamp: number;
}

/** avsc answers `value` undefined when the bytes end early. */
const decode = needed.decode.bind(needed) as (
  bytes: Buffer,
  at: number,
  resolver: unknown,
) => { value: Needed | undefined; offset: number };

/**
 * Cuts concatenated datums of the newest event-row into rows. Answers undefined when they are not
 * exactly `count` datums.
 */
export function splitRows(datums: Buffer, count: number): Row[] | undefined {
  const rows: Row[] = [];
  let at = 0;
  try {
    for (let row = 0; row < count; row++) {
      const { value, offset: end } = decode(datums, at, resolver);
      if (value === undefined || end <= at) return undefined;
      const {
        _epoch: epoch,
        _offset: offset,
        _index: index,
        account_id,
        event,
        message_id,
        timestamp,
      } = value;
      rows.push({
        mark: { epoch, offset, index },
        account_id,
        event,
        message_id,
        timestamp,
        datum: datums.subarray(at, end),
      });
      at = end;
    }
  } catch {
    return undefined;
  }
  return at === datums.length ? rows : undefined;
}
