import { createHash } from 'node:crypto';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { connectProducer, type LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import { retryUntilAborted, type RetryContext } from '../../platform/retry-until-aborted.ts';
import { encodeDeadLetter } from '../../schemas/dead-letter-versions.ts';
import type { DeadLetter } from '../../schemas/records.ts';

export type SinkDeadLetter = Omit<DeadLetter, 'stage' | 'fingerprint' | 'failed_at' | 'indexes'>;

export interface DeadLetters {
  /** Retries until Kafka acknowledges it. Rejects when the signal aborts. */
  send(deadLetter: SinkDeadLetter, retry: RetryContext): Promise<void>;
  close(): Promise<void>;
}

/**
 * Writes dead letters of the sink to events.dead (schemas/dead-letter.v1). A crash may repeat one:
 * (topic, partition, offset, index) identifies it.
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
  const publish = async (value: Buffer) => {
    const current = await producer();
    try {
      await current.publish({ topic: options.topic, partition: 0, key: null, value });
    } catch (error) {
      // A producer that dropped a record accepts no further records: the next attempt connects a
      // new one.
      connecting = undefined;
      await current.close(0);
      throw error;
    }
  };
  return {
    async send(deadLetter, retry) {
      const value = encodeDeadLetter({
        ...deadLetter,
        indexes: [],
        stage: 'project',
        fingerprint: causeOf(deadLetter.reason),
        failed_at: options.now(),
      });
      await retryUntilAborted(
        { ...retry, code: 'dead_letter_unwritten', what: 'writing a dead letter' },
        () => publish(value),
      );
      const { topic, partition, offset, index, reason, events } = deadLetter;
      options.log.warn(
        { code: 'dead_letter', topic, partition, offset, index, reason, events },
        'a record was sent to events.dead',
      );
    },
    async close() {
      await (await connecting?.catch(() => undefined))?.close(2000);
    },
  };
}

/** Fingerprint that groups the dead letters of one cause. */
function causeOf(reason: string): string {
  return createHash('sha256').update(`project\u0000${reason}`).digest('hex').slice(0, 16);
}
