import { epochAsOf, offsetAfter, type EpochStart } from '../../../platform/log/epochs.ts';
import type { RangeReader } from '../../../platform/kafka/read-range.ts';
import { deadLetterCodec, rowBatchCodec, verdictRecordCodec } from '../../../schemas/codec.ts';
import { sliceRowBatch } from '../../../schemas/row-batch.ts';
import { TOPIC } from '../../../schemas/topology.ts';

/** A partition of a derived topic that went back, and the raw partition that it is derived from. */
interface Derived {
  topic: string;
  partition: number;
  low: number;
  boundary: number;
  epochs: readonly EpochStart[];
  raw: { partition: number; low: number; epochs: readonly EpochStart[] };
}

/** Dead letters that are read backwards, until one of the raw partition is found. */
const MAX_DEAD_LETTERS = 5000;

/**
 * The raw offset from which the normaliser must derive again what the topic lost: that of the last
 * record that the topic still names. Positions that are derived twice are skipped by every reader.
 */
export async function derivedFrom(reader: RangeReader, lost: Derived): Promise<number> {
  const { topic, boundary, low, raw } = lost;
  const most = topic === TOPIC.dead ? MAX_DEAD_LETTERS : 1;
  let last: { epoch: number; offset: number } | undefined;
  const from = Math.max(low, boundary - most);
  const range = { topic, partition: lost.partition, from, to: boundary };
  await reader.search({ ...range, limits: { records: most, ms: 60_000 } }, ({ offset, value }) => {
    last = (value && namedPosition(lost, offset, value)) ?? last;
    return undefined;
  });
  if (!last) return raw.low;
  // The last raw record may have been derived in part.
  return Math.max(raw.low, offsetAfter(raw.epochs, { ...last, offset: last.offset - 1 }));
}

/** The last raw record that a derived record names. */
function namedPosition(
  { topic, epochs, raw }: Derived,
  at: number,
  value: Buffer,
): { epoch: number; offset: number } | undefined {
  if (topic === TOPIC.normalised) {
    const { epoch, last_offset } = sliceRowBatch(value)?.head ?? rowBatchCodec.decode(value);
    return { epoch, offset: last_offset };
  }
  // The others name an offset of the epoch in which they were written.
  const epochOf = (offset: number) =>
    epochAsOf(
      raw.epochs,
      offset,
      epochs.reduce((newest, { epoch, firstOffset }) => {
        return firstOffset <= at && epoch > newest ? epoch : newest;
      }, 0),
    );
  if (topic === TOPIC.verdicts) {
    const offset = verdictRecordCodec.decode(value).verdicts.at(-1)?.offset;
    return offset === undefined ? undefined : { epoch: epochOf(offset), offset };
  }
  const dead = deadLetterCodec.decode(value);
  if (dead.topic !== TOPIC.raw || dead.partition !== raw.partition) return undefined;
  return { epoch: epochOf(dead.offset), offset: dead.offset };
}
