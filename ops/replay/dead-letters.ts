import type { ContextReader } from '../../events/normalise.ts';
import { readRawEvents } from '../../pipeline/replay/raw-events.ts';
import { deadLetterCodec, UnreadableRecord } from '../../schemas/codec.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import { readRun } from './runs.ts';
import type { SourceEvent } from './source.ts';
import { TOPIC } from '../../schemas/topology.ts';

/**
 * The events of a dead letter as today's code sees its bytes: of events.raw normalised anew under
 * their raw places, of events.normalised as they were. Undefined when the letter or its bytes
 * cannot be read, for instance because the letter keeps only the beginning of a very large record:
 * replay its place of events.raw then.
 */
export function readLetter(
  value: Buffer | null,
  contexts: ContextReader,
): SourceEvent[] | undefined {
  const letter = decoded(value);
  if (!letter) return undefined;
  if (letter.topic === TOPIC.normalised) return readRun(letter.value);
  if (letter.topic !== TOPIC.raw) return undefined;
  const { topic, partition, offset, appended_at: timestamp, key } = letter;
  const { events, unreadable } = readRawEvents(
    { topic, partition, offset, timestamp, key, value: letter.value },
    contexts,
  );
  if (unreadable !== undefined) return undefined;
  return events
    .filter(({ at }) => letter.index === null || at.index === letter.index)
    .map((event) => ({ ...event, said: 'dead', covered: true }));
}

export function decoded(value: Buffer | null): DeadLetter | undefined {
  try {
    return value === null ? undefined : deadLetterCodec.decode(value);
  } catch (error) {
    if (error instanceof UnreadableRecord) return undefined;
    throw error;
  }
}
