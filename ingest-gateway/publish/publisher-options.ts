import type { BufferPool } from '../../platform/buffer-pool.ts';
import type { Log } from '../../platform/log.ts';
import type { Spool } from '../spool/spool.ts';
import type { ConnectLog } from './connect-log.ts';
import type { KnownTopics } from './known-topics.ts';
import type { RawBatchOptions } from './raw-batch-buffer.ts';

export interface PublisherOptions {
  spool: Spool;
  connect: ConnectLog;
  topics: KnownTopics;
  /** Reads the record limits again while they are too low. */
  readLimits?: () => Promise<ReadonlyMap<string, number>>;
  log: Log;
  /** A partition that acknowledges nothing for this long has failed, ms. */
  timeout: number;
  /** Bytes that may wait for acknowledgements; as many may wait in memory to be sent. */
  maxInFlightBytes: number;
  /** Pause before another attempt to reach Kafka, ms. */
  retry?: { base: number; cap: number };
  /** Of values: a value that came from it goes back when nobody reads it any more. */
  buffers?: BufferPool;
  onAcknowledged?: (milliseconds: number) => void;
  /** Absent: each raw record is a record of Kafka. */
  batches?: RawBatchOptions;
}
