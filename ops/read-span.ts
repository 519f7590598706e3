import type kafka from 'node-rdkafka';
import type { KafkaSettings } from '../platform/kafka/connection.ts';
import {
  consumeDetached,
  leaveDetached,
  openDetached,
  type DetachedConsumer,
} from '../platform/kafka/detached-consumer.ts';

/** A record of the log as it was appended. */
export interface LogRecord {
  topic: string;
  partition: number;
  offset: number;
  /** When the log took it, ms since the epoch. */
  timestamp: number;
  key: Buffer | null;
  value: Buffer | null;
}

/**
 * Offsets `from` (inclusive) to `to` (exclusive) of one partition, and how much of it may be read.
 */
export interface Span {
  topic: string;
  partition: number;
  from: number;
  to: number;
  /** Most records, and the longest time, ms. */
  most: { records: number; ms: number };
}

/**
 * `end`: all of the span was read; `found`: the reader had what it looked for; `bound`: the span is
 * larger than what may be read. `next` is the first offset not read.
 */
export interface SpanRead {
  ended: 'end' | 'found' | 'bound';
  next: number;
}

export interface LogSpans {
  /**
   * Gives records to `visit`, in order, until it answers 'found'. One span at a time. Rejects when
   * no broker answers.
   */
  read(span: Span, visit: (record: LogRecord) => 'found' | undefined): Promise<SpanRead>;
  close(): Promise<void>;
}

/** 1 MiB is what the client takes by itself. */
const CLIENT = { connectMs: 4000, prefetchKib: 32 * 1024, fetchBytes: 1024 * 1024 };
/** Records come within this time of asking for them, or the broker is taken to be away, ms. */
const SILENCE_MS = 6000;
const POLL_MS = 100;
const BATCH = 500;

/**
 * Reads pieces of the log without joining a group and without committing: live lag is untouched.
 * Connects when it is first needed.
 */
export function logSpans(settings: KafkaSettings, name: string): LogSpans {
  let connecting: Promise<DetachedConsumer> | undefined;
  return {
    async read(span, visit) {
      if (span.from >= span.to) return { ended: 'end', next: span.from };
      connecting ??= openDetached({ settings, clientId: name, ...CLIENT });
      return readSpan(await connecting, span, visit);
    },
    async close() {
      const consumer = await connecting?.catch(() => undefined);
      if (consumer) await leaveDetached(consumer);
    },
  };
}

async function readSpan(
  consumer: DetachedConsumer,
  span: Span,
  visit: (record: LogRecord) => 'found' | undefined,
): Promise<SpanRead> {
  const { topic, partition, to, most } = span;
  const deadline = Date.now() + most.ms;
  let next = span.from;
  let read = 0;
  let heardAt = Date.now();
  consumer.assign([{ topic, partition, offset: next }]);
  try {
    while (next < to) {
      if (read >= most.records || Date.now() > deadline) return { ended: 'bound', next };
      const messages = await consumeDetached(consumer, {
        most: Math.min(BATCH, most.records - read),
        ms: POLL_MS,
      });
      if (messages.length > 0) heardAt = Date.now();
      else if (Date.now() - heardAt > SILENCE_MS)
        throw new Error(
          `no record of ${topic} ${partition} came for ${SILENCE_MS / 1000} s: is the broker up?`,
        );
      for (const message of messages) {
        if (message.topic !== topic || message.partition !== partition || message.offset < next)
          continue;
        if (message.offset >= to) return { ended: 'end', next: to };
        next = message.offset + 1;
        read++;
        const record = {
          topic,
          partition,
          offset: message.offset,
          timestamp: message.timestamp ?? 0,
          key: bytesOf(message.key),
          value: message.value,
        };
        if (visit(record) === 'found') return { ended: 'found', next };
      }
    }
    return { ended: 'end', next };
  } finally {
    consumer.unassign();
  }
}

function bytesOf(key: kafka.MessageKey | undefined): Buffer | null {
  if (key === null || key === undefined) return null;
  return typeof key === 'string' ? Buffer.from(key) : key;
}
