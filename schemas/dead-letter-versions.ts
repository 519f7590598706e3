import { deadLetterCodec, writerOf } from './codec.ts';
import type { DeadLetter } from './records.ts';

const encodeV1 = writerOf('dead-letter', 1);

/** As earlier releases read it, unless it stands for several items of a record. */
export function encodeDeadLetter(deadLetter: DeadLetter): Buffer {
  return deadLetter.indexes.length > 1 ? deadLetterCodec.encode(deadLetter) : encodeV1(deadLetter);
}
