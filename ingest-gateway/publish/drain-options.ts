import type { LogRecord } from '../../ingest/log-record.ts';
import type { LogProducer } from '../../platform/kafka/producer.ts';
import type { QuarantineFailed } from '../spool/quarantine.ts';
import type { SpooledFrame } from '../spool/read-cursor.ts';
import type { SpoolQueue } from '../spool/spool-queue.ts';
import type { TopicPartition } from '../spool/spool.ts';
import type { Fact } from './evolve.ts';
import type { KnownTopics } from './known-topics.ts';

/** Why a drain cannot go on without an operator. */
export type BlockedReason = QuarantineFailed['reason'] | 'unknown_version';

/** The next frame can neither be published nor kept elsewhere: it stays, and so does the rest. */
export class DrainBlocked extends Error {
  readonly reason: BlockedReason;
  constructor(reason: BlockedReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DrainBlocked';
    this.reason = reason;
  }
}

/** Where records of a partition go that cannot be written. */
export interface Side {
  /** `done` is called once: when the record is on disk, or with the reason it is not. */
  move(record: LogRecord, done: (error: Error | undefined) => void): void;
}

export interface DrainOptions {
  queue: SpoolQueue;
  producer: LogProducer;
  topics: Pick<KnownTopics, 'partitionsOf' | 'limitOf' | 'learnRefusal'>;
  /** Without an acknowledgement for so many ms, a partition is silent. */
  timeout: number;
  /** Ms in which acknowledgements could be noticed. */
  clock: () => number;
  /** The producer sends each record alone and survives refusals; ends with Isolated. */
  isIsolating: boolean;
  /** False once another producer has replaced this one. */
  isCurrent: () => boolean;
  sideOf: (of: TopicPartition) => Side | undefined;
  /**
   * Partitions that are silent, and whether another one is not. True: they have sides now.
   * `isLast`: otherwise the drain fails.
   */
  onSilent: (
    silent: readonly TopicPartition[],
    facts: { isAnyAlive: boolean; isLast: boolean },
  ) => boolean;
  /** Kafka refuses a partition's records for a reason of its own. */
  onPartitionFailed: (of: TopicPartition) => void;
  report: (fact: Extract<Fact, 'progressed' | 'caught_up' | 'drained'>) => void;
  onSetAside: (frame: SpooledFrame, reason: string) => void;
}
