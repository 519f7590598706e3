import type { RecordHeader } from '../platform/kafka/record-headers.ts';

/** A record for Kafka. `partition` is always set, so no consumer depends on `key`. */
export interface LogRecord {
  topic: string;
  partition: number;
  key: string | null;
  value: Buffer;
  accountId: number;
  /** Accepted events in it; spooled events count in the reconciliation (ARCHITECTURE.md, G6). */
  events: number;
  /** Headers in Kafka; a record that goes through the spool loses them. */
  headers?: readonly RecordHeader[];
  /** Called when it is durable on this machine only: Kafka gets it later. */
  onSpooled?: () => void;
}
