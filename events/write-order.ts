/** The order of writes: the newest received_at, then the log position (reports: People). */
export interface WriteOrder {
  /** ms since the epoch */
  receivedAt: number;
  epoch: number;
  partition: number;
  offset: number;
  index: number;
}

/** Negative when `a` was written before `b`, 0 for the same event. */
export function compareWriteOrder(a: WriteOrder, b: WriteOrder): number {
  return (
    a.receivedAt - b.receivedAt ||
    a.epoch - b.epoch ||
    a.partition - b.partition ||
    a.offset - b.offset ||
    a.index - b.index
  );
}

// 44 bits of received_at, 8 of epoch, 16 of partition, 44 of offset, 16 of index: as one UInt128
// they compare like the write order.
const OFFSET_HIGH = 2 ** 32;
const LIMITS = {
  receivedAt: 2 ** 44,
  epoch: 2 ** 8,
  partition: 2 ** 16,
  offset: 2 ** 44,
  index: 2 ** 16,
};
const FIELDS = Object.keys(LIMITS) as (keyof WriteOrder)[];

/** Writes the 16 bytes of a UInt128, little endian. Throws RangeError when a field does not fit. */
export function encodeWriteOrder(bytes: Buffer, at: number, order: WriteOrder): void {
  const { receivedAt, epoch, partition, offset, index } = order;
  for (const field of FIELDS) {
    const value = order[field];
    if (!(value >= 0 && value < LIMITS[field]))
      throw new RangeError(`${field} ${value} does not fit into a write order`);
  }
  // from low to high: index 16, offset 44, partition 16, epoch 8, received_at 44
  bytes.writeUInt16LE(index, at);
  bytes.writeUInt32LE(offset % OFFSET_HIGH, at + 2);
  const offsetHigh = Math.floor(offset / OFFSET_HIGH);
  bytes.writeUInt32LE(
    (offsetHigh | ((partition & 0xffff) << 12) | ((epoch & 0xf) << 28)) >>> 0,
    at + 6,
  );
  const rest = (epoch >> 4) + receivedAt * 16;
  bytes.writeUInt32LE(rest % OFFSET_HIGH, at + 10);
  bytes.writeUInt16LE(Math.floor(rest / OFFSET_HIGH), at + 14);
}

/** Inverse of encodeWriteOrder. */
export function decodeWriteOrder(bytes: Buffer, at: number): WriteOrder {
  const index = bytes.readUInt16LE(at);
  const middle = bytes.readUInt32LE(at + 6);
  const rest = bytes.readUInt32LE(at + 10) + bytes.readUInt16LE(at + 14) * OFFSET_HIGH;
  return {
    receivedAt: Math.floor(rest / 16),
    epoch: (middle >>> 28) | ((rest % 16) << 4),
    partition: (middle >>> 12) & 0xffff,
    offset: bytes.readUInt32LE(at + 2) + (middle & 0xfff) * OFFSET_HIGH,
    index,
  };
}
