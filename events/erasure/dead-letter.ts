import {
  deadLetterCodec,
  decodeIfReadable,
  rawRecordCodec,
  rowBatchCodec,
  UnreadableRecord,
} from '../../schemas/codec.ts';
import { encodeDeadLetter } from '../../schemas/dead-letter-versions.ts';
import { ERASED, type DeadLetter } from '../../schemas/records.ts';
import { rawRecordOf } from '../../schemas/raw-batch.ts';
import { TOPIC } from '../../schemas/topology.ts';
import type { ErasedPeople } from './erased-people.ts';
import { eraseFromRaw } from './raw-record.ts';
import { eraseFromRowBatch } from './row-batch.ts';

/** The epoch of the raw record that a dead letter names. */
type EpochOfDeadLetter = (deadLetter: Pick<DeadLetter, 'partition' | 'offset'>) => number;

interface ErasedDeadLetter {
  deadLetter: DeadLetter;
  /** Nothing is left that could be redriven. */
  isEmpty: boolean;
}

/** The dead letter without the events of erased people; undefined when it holds none. */
export function withoutErasedEvents(
  deadLetter: DeadLetter,
  erased: ErasedPeople,
  epochOf: EpochOfDeadLetter,
): ErasedDeadLetter | undefined {
  if (erased.isEmpty) return undefined;
  const value = erasedValue(deadLetter, erased, epochOf);
  if (!value) return undefined;
  const isEmpty = standsForNothing(deadLetter, value);
  return {
    isEmpty,
    deadLetter: {
      ...deadLetter,
      value,
      key: null,
      detail: '',
      ...(isEmpty ? { message_id: '' } : {}),
    },
  };
}

function erasedValue(
  deadLetter: DeadLetter,
  erased: ErasedPeople,
  epochOf: EpochOfDeadLetter,
): Buffer | undefined {
  const { topic, partition, offset, value } = deadLetter;
  if (topic !== TOPIC.normalised)
    return eraseFromRaw({ value, partition, offset, epoch: epochOf(deadLetter) }, erased);
  try {
    return eraseFromRowBatch(value, erased);
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    return undefined;
  }
}

/** Whether all events that the dead letter stands for are erased. */
function standsForNothing({ topic, index, indexes }: DeadLetter, value: Buffer): boolean {
  if (value.length === 0) return true;
  if (topic === TOPIC.normalised) return isWithoutRows(value);
  const failed = rawRecordOf(value);
  const record = failed && decodeIfReadable(rawRecordCodec, failed.value);
  if (!record) return false;
  const { firstIndex } = failed;
  const own =
    index === null
      ? record.items
      : (indexes.length > 1 ? indexes : [index]).map((at) => record.items[at - firstIndex]);
  return own.every((item) => item?.type === ERASED);
}

function isWithoutRows(value: Buffer): boolean {
  return decodeIfReadable(rowBatchCodec, value)?.rows.length === 0;
}

/** A record of events.dead without the events of erased people; undefined when it holds none. */
export function eraseFromDeadLetter(
  value: Buffer,
  erased: ErasedPeople,
  epochOf: EpochOfDeadLetter,
): Buffer | undefined {
  const deadLetter = decodeIfReadable(deadLetterCodec, value);
  const found = deadLetter && withoutErasedEvents(deadLetter, erased, epochOf);
  return found && encodeDeadLetter(found.deadLetter);
}
