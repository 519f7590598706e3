import { isUnknownSchema, UnreadableRecord } from '../../schemas/codec.ts';
import type { Log } from '../log.ts';
import type { ConsumedMessage, PartitionTask } from './consumer-types.ts';

/** A task that starts at the committed offset and commits each batch once it is processed. */
export function batchTask(
  processBatch: (messages: readonly ConsumedMessage[]) => Promise<void>,
): PartitionTask {
  return {
    from: undefined,
    async process(messages) {
      await processBatch(messages);
      return offsetAfter(messages);
    },
    release: () => Promise.resolve(),
  };
}

/** The offset that commits a batch. */
export function offsetAfter(messages: readonly ConsumedMessage[]): number {
  return (messages.at(-1)?.offset ?? -1) + 1;
}

interface Skip {
  log: Log;
  /** Log message: what happens to the content of the record. */
  warning: string;
  onUnreadable?: () => void;
}

/**
 * What `read` decodes of a record; nothing, with a warning, when the record is damaged. Throws
 * UnreadableRecord for an unknown schema: the partition waits.
 */
export function readOrSkip<T>(
  message: ConsumedMessage,
  read: (message: ConsumedMessage) => T[],
  { log, warning, onUnreadable }: Skip,
): T[] {
  try {
    return read(message);
  } catch (error) {
    if (!(error instanceof UnreadableRecord) || isUnknownSchema(error)) throw error;
    const { topic, partition, offset } = message;
    onUnreadable?.();
    log.warn({ code: error.code, topic, partition, offset }, warning);
    return [];
  }
}
