/** A record batch of an idempotent producer (format v2, no compression). */
export interface Batch {
  producerId: bigint;
  epoch: number;
  firstSequence: number;
  values: string[];
}

const OUT_OF_ORDER_SEQUENCE_NUMBER = 45;
const KEPT_BATCHES = 5;

const AT = { attributes: 21, producerId: 43, epoch: 51, sequence: 53, count: 57, records: 61 };

/** Reads the only batch of a Produce request's partition. */
export function batchOf(bytes: Buffer): Batch {
  if ((bytes.readInt16BE(AT.attributes) & 7) !== 0)
    throw new Error('the batch is compressed, which this reader does not know');
  let at = AT.records;
  const varint = () => {
    let [value, shift] = [0, 0];
    for (let byte = 0x80; byte >= 0x80; shift += 7) {
      byte = bytes.readUInt8(at++);
      value += (byte & 0x7f) * 2 ** shift;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  };
  const values = Array.from({ length: bytes.readInt32BE(AT.count) }, () => {
    const length = varint();
    const end = at + length;
    at += 1;
    varint();
    varint();
    const keyLength = varint();
    at += Math.max(0, keyLength);
    const valueLength = varint();
    const value = bytes.subarray(at, at + valueLength).toString();
    at = end;
    return value;
  });
  return {
    producerId: bytes.readBigInt64BE(AT.producerId),
    epoch: bytes.readInt16BE(AT.epoch),
    firstSequence: bytes.readInt32BE(AT.sequence),
    values,
  };
}

interface ProducerState {
  epoch: number;
  /** The last ones, of which a repeat is answered with its offset. */
  batches: { first: number; last: number; offset: bigint }[];
}

/**
 * A partition as its leader keeps it. Sequence numbers of a producer must follow each other, except
 * for a producer that the leader does not know: of that one it appends whatever comes first
 * (ProducerAppendInfo of Kafka 4.1).
 */
export class PartitionLog {
  readonly values: string[] = [];
  readonly #producers = new Map<bigint, ProducerState>();

  forgetProducers(): void {
    this.#producers.clear();
  }

  append({ producerId, epoch, firstSequence, values }: Batch): { error: number; offset: bigint } {
    const known = this.#producers.get(producerId);
    const repeated = known?.batches.find(
      ({ first }) => known.epoch === epoch && first === firstSequence,
    );
    if (repeated) return { error: 0, offset: repeated.offset };
    const expected = known?.epoch === epoch ? (known.batches.at(-1)?.last ?? -1) + 1 : 0;
    if (known && firstSequence !== expected)
      return { error: OUT_OF_ORDER_SEQUENCE_NUMBER, offset: -1n };
    const offset = BigInt(this.values.length);
    this.values.push(...values);
    const before = known?.epoch === epoch ? known.batches.slice(1 - KEPT_BATCHES) : [];
    const batch = { first: firstSequence, last: firstSequence + values.length - 1, offset };
    this.#producers.set(producerId, { epoch, batches: [...before, batch] });
    return { error: 0, offset };
  }
}
