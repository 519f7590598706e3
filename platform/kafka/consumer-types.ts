import type { Registry } from 'prom-client';
import type { SourceRecord } from '../../events/raw/failure.ts';
import type { Log } from '../log.ts';
import type { TopicPartition } from '../log/evidence-store.ts';
import type { Database } from '../postgres/pool.ts';
import type { KafkaSettings } from './connection.ts';
import type { RecordHeader } from './record-headers.ts';

/** One record of a topic. */
export interface ConsumedMessage extends SourceRecord {
  /** Bytes of the value. */
  size: number;
  /** Absent: it has none. */
  headers?: readonly RecordHeader[];
}

/** For a task that completes messages after `process` has resolved. Ignored after the fence. */
export interface LaterCommits {
  /** Commits the offset (the next to read): all effects before it are durable. */
  commit(offset: number): void;
  /** Crashes the process, like a rejection of `process`. */
  failed(error: unknown): void;
}

/** Processes one partition, from its assignment to its revocation. */
export interface PartitionTask {
  /** First offset to read; undefined: the committed one, or the beginning. */
  readonly from: number | undefined;
  /** Offset after the last processed record, where `from` is before it. */
  readonly processed?: number | undefined;
  /**
   * Processes consecutive messages of the partition, in order, one call at a time. Resolves with
   * the offset to commit (the next to read) once all effects are durable; undefined commits
   * nothing. A rejection crashes the process and the offset does not advance. When the partition
   * is revoked during a call, `fenced` (passed to `assigned`) aborts: the call should end soon,
   * and its result is not committed.
   */
  process(messages: readonly ConsumedMessage[]): Promise<number | undefined>;
  /**
   * Called once, before the first `process`, by a task whose effects may become durable after
   * `process` has resolved with undefined.
   */
  commitsLater?(commits: LaterCommits): void;
  /**
   * Called once, before the first `process`, where the evidence is stored before effects
   * (EvidenceOptions): the task awaits `stored` in each call of `process` before it has an effect
   * outside Kafka.
   */
  beforeEffects?(stored: () => Promise<void>): void;
  /**
   * Resolves when the effects of all processed messages are durable and their commits requested.
   * Called before the fence, and awaited within the drain timeout.
   */
  drain?(): Promise<void>;
  /**
   * Called after the last `process` call has ended, or its drain timeout has passed, and before
   * the partition is assigned to another member.
   */
  release(): Promise<void>;
}

/** Where and when a consumer stores what it processed, so that it notices a log that went back. */
export interface EvidenceOptions {
  database: Pick<Database, 'query'>;
  /**
   * `process`: stored before each batch is processed, for effects outside Kafka. `effects`: the
   * task says when (PartitionTask.beforeEffects), for effects outside Kafka that few batches have.
   * `commit`: for effects in the log itself. The last two are stored before each commit too, at
   * most a few times a second.
   */
  before: 'process' | 'effects' | 'commit';
  /** What the consumer writes when it reads a partition. */
  writes?: (partition: number) => readonly TopicPartition[];
}

export type ValuesUntil = 'processed' | 'committed';

export interface PartitionConsumerOptions {
  /** KAFKA_GROUP_PROTOCOL: `consumer` by default; KAFKA_SESSION_TIMEOUT: 6 s. */
  settings: KafkaSettings & {
    readonly KAFKA_GROUP_PROTOCOL?: 'consumer' | 'classic';
    readonly KAFKA_SESSION_TIMEOUT?: number;
  };
  log: Log;
  groupId: string;
  clientId: string;
  /** group.instance.id: a restart gets its partitions back at once. Empty: dynamic. */
  instanceId?: string;
  topic: string;
  /** Limits of one batch. */
  batch: BatchLimits;
  /**
   * Until when the tasks read the values of messages: until `process` has resolved, or until it
   * has resolved with an offset above theirs. Then their memory is freed (freeValues). Absent: it
   * is left to the garbage collector.
   */
  valuesUntil?: ValuesUntil;
  /**
   * Partitions of the topic when the process starts. With many, the fetches of all of them would be
   * as frequent as records are: they wait as long as `batch.interval` has grown (shareLimits).
   */
  partitions?: number | undefined;
  /**
   * Absent: a log that goes back is not noticed, and erased people are read again; for topics of
   * tests and benches.
   */
  evidence?: EvidenceOptions;
  /**
   * Called once per assignment. May take long, the other partitions continue; a rejection crashes
   * the process. `fenced` aborts when the partition is revoked.
   */
  assigned(
    partition: number,
    committed: number | undefined,
    fenced: AbortSignal,
  ): Promise<PartitionTask>;
  /** Ends the process; the supervisor restarts it. */
  crash(error: unknown): void;

  registry?: Registry;
  /** How long a rebalance waits for a running batch, ms. */
  drain?: number;
}

/** Consumer lag of a partition. */
export interface PartitionLag {
  partition: number;
  /** Records not committed yet, as far as the client knows. */
  records: number;
  /** Age of the oldest fetched record that is not committed yet, ms; 0 when there is none. */
  age: number;
}

export interface BatchLimits {
  records: number;
  bytes: number;
  /** How long the first message of a batch may wait for more, ms. */
  linger: number;
  /** Minimum ms between batch starts: larger batches under load, no delay when idle. */
  interval?: number;
  /** With many partitions the interval grows up to this, ms (shareLimits). */
  maxInterval?: number;
  /** The interval is meant for a process with so many partitions; 4 by default. */
  intervalPartitions?: number;
  /** A batch becomes an insert: never made smaller; `maxInterval` is 5 s by default. */
  isInsert?: boolean;
}
