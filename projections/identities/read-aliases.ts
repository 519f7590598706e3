import { utf8Length } from '../../events/bytes.ts';
import { MAX_ID_BYTES } from '../../events/event-name.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import type { EventRow } from '../../schemas/records.ts';
import { POSITION_FIELDS, rowReader } from '../../schemas/row-reader.ts';
import type { AliasFact } from './alias-fact.ts';

const FIELDS = [
  ...POSITION_FIELDS,
  'account_id',
  'type',
  'user_id',
  'previous_id',
  'received_at',
] as const;
type AliasRow = Pick<EventRow, (typeof FIELDS)[number]>;

/** The encoded type of an alias: a row batch without these bytes holds none and is not decoded. */
const ALIAS = Buffer.from('\u000aalias', 'latin1');

const readRows = rowReader(
  {
    fields: FIELDS,
    row: (row): AliasRow => ({
      _epoch: row._epoch,
      _partition: row._partition,
      _offset: row._offset,
      _index: row._index,
      account_id: row.account_id,
      type: row.type,
      user_id: row.user_id,
      previous_id: row.previous_id,
      received_at: row.received_at,
    }),
  },
  (rows) => rows.includes(ALIAS),
);

/** The aliases of a record that may merge distinct ids. Throws UnreadableRecord. */
export function readAliases(
  message: Pick<ConsumedMessage, 'value'>,
): { accountId: number; fact: AliasFact }[] {
  return readRows(message).flatMap((row) => aliasOf(row) ?? []);
}

/** The alias of a row, if it may merge distinct ids. */
export function aliasOf(row: AliasRow): { accountId: number; fact: AliasFact } | undefined {
  return mayMerge(row) ? { accountId: row.account_id, fact: factOf(row) } : undefined;
}

/** Aliases without user_id, to themselves or too long merge nothing (reports: People). */
function mayMerge({ type, user_id, previous_id }: AliasRow): boolean {
  return (
    type === 'alias' &&
    user_id !== '' &&
    previous_id !== '' &&
    previous_id !== user_id &&
    utf8Length(previous_id) <= MAX_ID_BYTES
  );
}

function factOf({
  previous_id: previousId,
  user_id: userId,
  received_at: receivedAt,
  ...row
}: AliasRow): AliasFact {
  return {
    previousId,
    userId,
    order: {
      receivedAt,
      epoch: row._epoch,
      partition: row._partition,
      offset: row._offset,
      index: row._index,
    },
  };
}
