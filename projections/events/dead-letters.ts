import { createHash } from 'node:crypto';
import type { Log } from '../../platform/log.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { connectProducer, type LogProducer } from '../../platform/kafka/producer.ts';
import { deadLetterCodec } from '../../schemas/codec.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import { retryUntilAborted, type RetryContext } from '../../platform/retry-until-aborted.ts';

export interface DeadLetters {
  /**
   * Resolves when the log has acknowledged the letter; waits as long as that takes. Rejects when
   * the signal aborts.
   */
  bury(
    letter: Omit<DeadLetter, 'stage' | 'fingerprint' | 'failed_at'>,
    patience: RetryContext,
  ): Promise<void>;
  close(): Promise<void>;
}

/**
 * Letters of the sink in events.dead (schemas/dead-letter.v1). A letter may come twice after a
 * crash: (topic, partition, offset, index) names it.
 */
export function deadLetters(options: {
  settings: KafkaSettings;
  log: Log;
  topic: string;
  now: () => number;
}): DeadLetters {
  let connecting: Promise<LogProducer> | undefined;
  const producer = () => {
    connecting ??= connectProducer({
      settings: options.settings,
      log: options.log,
      clientId: 'ravand-events-sink-dead',
      timeout: 10_000,
      linger: 5,
      pollInterval: 20,
      maxQueued: { records: 10_000, bytes: 64 * 1024 * 1024 },
    }).catch((error: unknown) => {
      connecting = undefined;
      throw error;
    });
    return connecting;
  };
  return {
    async bury(letter, patience) {
      const value = deadLetterCodec.encode({
        ...letter,
        stage: 'project',
        fingerprint: causeOf(letter.reason),
        failed_at: options.now(),
      });
      await retryUntilAborted(
        { ...patience, code: 'dead_letter_unwritten', what: 'writing a dead letter' },
        async () => {
          const current = await producer();
          try {
            await current.publish({ topic: options.topic, partition: 0, key: null, value });
          } catch (error) {
            // A producer that gave a record up takes no more: the next attempt has a new one.
            connecting = undefined;
            await current.close(0);
            throw error;
          }
        },
      );
      const { topic, partition, offset, index, reason, events } = letter;
      options.log.warn(
        { code: 'dead_letter', topic, partition, offset, index, reason, events },
        'a record went to events.dead',
      );
    },
    async close() {
      await (await connecting?.catch(() => undefined))?.close(2000);
    },
  };
}

/** Groups the letters of one cause. */
function causeOf(reason: string): string {
  return createHash('sha256').update(`project\u0000${reason}`).digest('hex').slice(0, 16);
}
