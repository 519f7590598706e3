import type { Registry } from 'prom-client';
import { withDeadline } from '../deadline.ts';
import type { Log } from '../log.ts';
import { Assignments } from './assignments.ts';
import type { KafkaSettings } from './connection.ts';
import { connectConsumer } from './consumer-client.ts';
import { LogReader } from './log-reader.ts';
import type { BatchLimits } from './partition-buffer.ts';

/** One record of the log, as it was appended. */
export interface ConsumedMessage {
  topic: string;
  partition: number;
  offset: number;
  /** When the log took it, ms since the epoch. */
  timestamp: number;
  key: Buffer | null;
  value: Buffer | null;
  /** Bytes of the value. */
  size: number;
}

/** The work on one partition, from its assignment to its release. */
export interface PartitionTask {
  /**
   * First offset to read; undefined: the committed one, or the beginning of the log where there is
   * none.
   */
  readonly from: number | undefined;
  /**
   * Takes consecutive messages of the partition, in order; one call at a time. Resolves with the
   * offset to commit (the next to read) once all effects are durable; undefined commits nothing. A
   * rejection is unexpected: the process crashes and the offset does not advance. When the
   * partition is taken away while a take runs, `fenced` (given to `assigned`) aborts: the take
   * should stop soon; its result is not committed.
   */
  take(messages: readonly ConsumedMessage[]): Promise<number | undefined>;
  /**
   * After the last take has settled (or the bounded wait for it ended) and before the partition
   * goes to somebody else.
   */
  release(): Promise<void>;
}

export interface PartitionConsumerOptions {
  settings: KafkaSettings;
  log: Log;
  groupId: string;
  clientId: string;
  /**
   * Stable name of this process within the group: after a restart it has its partitions back at
   * once. Empty: a member without a name.
   */
  instanceId?: string;
  topic: string;
  /** Limits of one take. */
  batch: BatchLimits;
  /**
   * Called once an assignment. May take its time (others' partitions run on); a rejection crashes.
   * `fenced` aborts when the partition is taken away.
   */
  assigned(
    partition: number,
    committed: number | undefined,
    fenced: AbortSignal,
  ): Promise<PartitionTask>;
  /** Ends the process: the supervisor starts it again. */
  crash(error: unknown): void;
  /** Metrics go here when given. */
  registry?: Registry;
  /** How long a rebalance waits for a running take, ms. */
  drain?: number;
}

/** How far a partition is behind. */
export interface PartitionLag {
  partition: number;
  /** Records in the log that are not committed yet, as far as the client knows. */
  records: number;
  /** Age of the oldest record at hand that is not committed yet, ms; 0 when nothing waits. */
  age: number;
}

export interface PartitionConsumer {
  /** Partitions that this process owns now. */
  partitions(): number[];
  lag(): PartitionLag[];
  /** Kafka answers and the group has this process as a member. */
  connected(): boolean;
  /** Drains (bounded), commits and leaves the group. */
  close(): Promise<void>;
}

/**
 * Joins the group and works on what it is assigned until it is closed. Resolves once it is set up;
 * an unreachable Kafka is waited for, with backoff. A rebalance drains (bounded), then fences, then
 * hands over only the partitions that leave; the others run on.
 */
export function startPartitionConsumer(
  options: PartitionConsumerOptions,
): Promise<PartitionConsumer> {
  const { log, topic } = options;
  const closing = new AbortController();
  const crash = (error: unknown) => {
    if (!closing.signal.aborted) options.crash(error);
  };
  const assignments = new Assignments({ ...options, crash });
  let reader: LogReader | undefined;
  let rebalances: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void> | void) => {
    rebalances = rebalances.then(work).catch(crash);
  };

  const run = async () => {
    const client = await connectConsumer(
      {
        ...options,
        instanceId: options.instanceId ?? '',
        patience: Math.max(options.batch.linger, options.batch.interval ?? 0),
        onAssign: (partitions) => inTurn(() => assignments.assign(partitions)),
        onRevoke: (partitions) => inTurn(() => assignments.revoke(partitions)),
        onCommit: (error) => assignments.committed(error),
      },
      closing.signal,
    );
    log.info({ topic, group: options.groupId }, 'connected to Kafka');
    assignments.client = client;
    reader = new LogReader({
      client,
      log,
      closing: closing.signal,
      linger: options.batch.linger,
      deliver: (messages) => assignments.deliver(messages),
    });
    await reader.run();
  };
  const running = run().catch(crash);

  return Promise.resolve({
    partitions: () => assignments.partitions(),
    lag: () => assignments.lag(),
    connected: () => reader?.healthy ?? false,
    async close() {
      // Reading goes on until the last commits are answered: their outcomes come with it.
      await assignments.drain();
      closing.abort(new Error('closing'));
      await withDeadline({ ms: 6000, waitingFor: 'the consume loop' }, running);
      await assignments.client?.close(5000);
    },
  });
}
