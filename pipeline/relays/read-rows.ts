import avsc from 'avsc';
import type { ConsumedMessage } from '../../platform/kafka/consumer.ts';
import { eventRowCodec, normalisedRunCodec, UnreadableRecord } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { sliceRun } from '../../schemas/run.ts';

const FIELDS = [
  ...([
    '_epoch',
    '_partition',
    '_offset',
    '_index',
    'account_id',
    'event',
    'user_id',
    'anonymous_id',
    'message_id',
    'timestamp',
    'received_at',
  ] as const),
  ...(['properties', 'property_numbers'] as const),
] as const;

/** What relays look at and tell of a stored event. */
export type RelayRow = Pick<EventRow, (typeof FIELDS)[number]>;

const whole = eventRowCodec.type.schema() as unknown as { name: string; fields: { name: (typeof FIELDS)[number]; type: avsc.Schema }[] };
const type = avsc.Type.forSchema({ type: 'record', name: whole.name, fields: whole.fields.filter(({ name }) => FIELDS.includes(name)) });
const resolver = type.createResolver(eventRowCodec.type);
/** avsc answers `value` undefined when the bytes end early. */
const decode = type.decode.bind(type) as (bytes: Buffer, at: number, resolver: unknown) => { value: RelayRow | undefined; offset: number };

/** The rows of a record of events.normalised, in the order of their places. Throws UnreadableRecord. */
export function readRows({ value }: Pick<ConsumedMessage, 'value'>): RelayRow[] {
  if (!value) throw new UnreadableRecord('not_single_object', 'the record has no value');
  const run = sliceRun(value);
  if (!run) return normalisedRunCodec.decode(value).rows;
  const rows: RelayRow[] = [];
  let at = 0;
  try {
    for (; rows.length < run.count;) {
      const { value: row, offset: end } = decode(run.rows, at, resolver);
      if (row === undefined || end <= at) break;
      rows.push(row);
      at = end;
    }
  } catch (cause) {
    throw new UnreadableRecord('broken_datum', 'the rows of the run cannot be read', { cause });
  }
  if (rows.length !== run.count || at !== run.rows.length)
    throw new UnreadableRecord('broken_datum', 'the rows of the run end too early or too late');
  return rows;
}
