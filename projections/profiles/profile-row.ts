import { NO_ACCRUAL, type Accrual } from '../../events/accrual.ts';
import { LastText } from '../../schemas/last-text.ts';
import type { PackedProfile, Profile } from './profile.ts';
import { RowBinaryReader, RowBinaryWriter } from './row-binary.ts';
import { skipWrites, WRITE_COLUMNS } from './writes.ts';

/** Columns of ClickHouse `profiles`, in the order of writeProfile and readProfile (DDL 0003). */
export const COLUMNS: readonly string[] = [
  ...[
    'account_id',
    'name',
    'user_id',
    'anonymous_id',
    '_epoch',
    '_partition',
    '_offset',
    '_index',
    'event_count',
  ],
  ...['first_seen', 'last_seen', 'total_revenue', 'order_count', 'last_order_at', ...WRITE_COLUMNS],
];

/** Writes one row of `profiles` in RowBinary. */
export function writeProfile(out: RowBinaryWriter, profile: Profile): void {
  const { last, accrual } = profile;
  out.int64(profile.accountId);
  out.string(profile.distinctId);
  out.string(profile.userId);
  out.string(profile.anonymousId);
  out.uint16(last.epoch);
  out.uint16(last.partition);
  out.int64(last.offset);
  out.uint32(last.index);
  out.int64(profile.eventCount);
  out.int64(profile.firstSeen);
  out.int64(profile.lastSeen);
  out.int128(accrual.totalRevenue);
  out.int64(accrual.orderCount);
  out.uint8(accrual.lastOrderAt === undefined ? 1 : 0);
  if (accrual.lastOrderAt !== undefined) out.int64(accrual.lastOrderAt);
  out.latin1(profile.writes);
}

/** A distinct id and the user_id beside it are mostly the same. */
const distinctId = new LastText();

/** Reads one row with the columns COLUMNS. */
export function readProfile(row: RowBinaryReader): Profile {
  return {
    accountId: row.int64(),
    distinctId: row.string(distinctId),
    userId: row.string(distinctId),
    anonymousId: row.string(),
    last: {
      epoch: row.uint16(),
      partition: row.uint16(),
      offset: row.int64(),
      index: row.uint32(),
    },
    eventCount: row.int64(),
    firstSeen: row.int64(),
    lastSeen: row.int64(),
    accrual: readAccrual(row),
    writes: skipWrites(row),
  };
}

/** Reads one row as far as its event_count, and returns that. */
export function readEventCount(row: RowBinaryReader): number {
  row.skip(ACCOUNT_BYTES);
  for (let text = 0; text < 3; text++) row.skip(row.varint());
  row.skip(POSITION_BYTES);
  return row.int64();
}

const ACCOUNT_BYTES = 8;
/** _epoch, _partition, _offset and _index. */
const POSITION_BYTES = 2 + 2 + 8 + 4;

function readAccrual(row: RowBinaryReader): Accrual {
  const totalRevenue = row.int128();
  const orderCount = row.int64();
  const lastOrderAt = row.uint8() === 1 ? undefined : row.int64();
  // Most people have ordered nothing: they share one.
  return totalRevenue === 0n && orderCount === 0 && lastOrderAt === undefined
    ? NO_ACCRUAL
    : { totalRevenue, orderCount, lastOrderAt };
}

const scratch = new RowBinaryWriter();

export function packProfile(profile: Profile): PackedProfile {
  writeProfile(scratch, profile);
  return scratch.finishLatin1();
}

let unpackBuffer = Buffer.allocUnsafe(64 * 1024);

export function unpackProfile(packed: PackedProfile): Profile {
  // One buffer for all: allocating one per profile would dominate the cost.
  if (packed.length > unpackBuffer.length) unpackBuffer = Buffer.allocUnsafe(2 * packed.length);
  return readProfile(new RowBinaryReader(unpackBuffer, unpackBuffer.write(packed, 'latin1')));
}
