import { delay } from '../backoff.ts';
import { FollowedErasures, isPersonal } from '../log/erasures.ts';
import { withDeadline } from '../deadline.ts';
import { Assignments } from './assignments.ts';
import { connectConsumer, type KafkaError } from './consumer-client.ts';
import { ConsumeLoop } from './consume-loop.ts';
import type { PartitionConsumerOptions, PartitionLag } from './consumer-types.ts';
import { isMembershipOver, keepMembership } from './keep-membership.ts';
import { LogGuard } from './log-guard.ts';
import { LogProbe } from './log-probe.ts';
import { shareLimits } from './share-limits.ts';

export interface PartitionConsumer {
  /** Partitions assigned to this process. */
  partitions(): number[];
  lag(): PartitionLag[];
  /** Whether brokers answer. */
  connected(): boolean;
  /** Why the consumer, or a partition of it, does not go on: one sentence each, for /readyz. */
  problems(): string[];
  /** The reader's evidence; undefined without `evidence`. */
  guard: LogGuard | undefined;
  /** Drains (bounded), commits and leaves the group. */
  close(): Promise<void>;
}

/** How often an idle partition is compared with the end of the log, ms. */
const STALL_CHECK_MS = 10_000;
/** How long a client may take to leave its group, ms. */
const CLOSE_MS = 5000;

/**
 * Joins the group and processes the assigned partitions until it is closed. Resolves at once; an
 * unreachable Kafka is retried with backoff. A rebalance drains (bounded), fences and releases
 * only the revoked partitions; the others continue. A membership that Kafka ends is followed by
 * another one (keep-membership.ts).
 */
export function startPartitionConsumer(
  options: PartitionConsumerOptions,
): Promise<PartitionConsumer> {
  const { log, topic, groupId, instanceId = '' } = options;
  const closing = new AbortController();
  const crash = (error: unknown) => {
    if (!closing.signal.aborted) options.crash(error);
  };
  let endMembership: (error: KafkaError) => void = () => undefined;
  const failed = (error: unknown) => {
    if (isMembershipOver(error)) endMembership(error);
    else crash(error);
  };
  const erasures =
    options.evidence && isPersonal(topic)
      ? new FollowedErasures({
          ...{ database: options.evidence.database, log, topic, signal: closing.signal },
        })
      : undefined;
  const assignments = new Assignments({
    ...options,
    crash: failed,
    read: erasures?.read,
    assigned: async (partition, committed, fenced) => {
      await erasures?.refresh(fenced);
      return options.assigned(partition, committed, fenced);
    },
  });
  void erasures?.follow();
  let loop: ConsumeLoop | undefined;
  let rebalances: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void> | void): Promise<void> => {
    rebalances = rebalances.then(work).catch(failed);
    return rebalances;
  };

  const probe = new LogProbe(options.settings);
  const reopen = (partitions: readonly number[]) =>
    void inTurn(() => assignments.reopen(partitions));
  const { evidence } = options;
  if (evidence)
    assignments.guard = new LogGuard({
      ...{ database: evidence.database, writes: evidence.writes, probe, log, topic },
      ...{ reader: groupId, closing: closing.signal },
      onContradiction: (partition) => reopen([partition]),
    });

  const limits = shareLimits(options.batch, options.partitions ?? 0);
  const membership = async () => {
    const over = new AbortController();
    const { signal } = over;
    const client = await connectConsumer(
      {
        ...{ ...options, instanceId },
        maxWaitMs: Math.max(limits.linger, limits.interval ?? 0),
        onAssign: (partitions) =>
          void inTurn(() => (signal.aborted ? undefined : assignments.assign(partitions))),
        // A client that is closed waits for the answer.
        onRevoke: (partitions) =>
          void inTurn(() =>
            signal.aborted ? client.unassign([]) : assignments.revoke(partitions),
          ),
        onCommit: (error) => (signal.aborted ? undefined : assignments.committed(error)),
        onSuspicion() {
          assignments.guard?.suspect();
          loop?.suspect();
        },
      },
      closing.signal,
    );
    log.info({ topic, group: groupId }, 'connected to Kafka');
    assignments.client = client;
    loop = new ConsumeLoop({
      client,
      log,
      closing: AbortSignal.any([closing.signal, signal]),
      linger: options.batch.linger,
      deliver: (messages) => assignments.deliver(messages),
      onNotInLog: () => reopen(assignments.partitions()),
    });
    const ended = new Promise<never>((_, reject) => {
      endMembership = reject;
    });
    const reading = loop.run();
    try {
      await Promise.race([reading, ended]);
    } catch (error) {
      if (!isMembershipOver(error)) throw error;
      over.abort();
      loop = undefined;
      await reading.catch(() => undefined);
      await inTurn(() => assignments.abandon());
      await client.close(CLOSE_MS);
      // It is closed: whoever closes the consumer now has nothing to wait for.
      assignments.client = undefined;
      throw error;
    }
  };
  const watchForStalls = async () => {
    for (;;) {
      await delay(STALL_CHECK_MS);
      if (closing.signal.aborted) return;
      try {
        const stalled = await assignments.stalled();
        if (stalled.length > 0) reopen(stalled);
      } catch (error) {
        log.debug({ err: error, topic }, 'cannot compare positions with the log; retrying');
      }
    }
  };
  void watchForStalls();
  const running = keepMembership(
    { log, topic, groupId, instanceId, closing: closing.signal },
    membership,
  ).catch(crash);

  return Promise.resolve({
    partitions: () => assignments.partitions(),
    lag: () => assignments.lag(),
    connected: () => loop?.healthy ?? false,
    problems: () => [
      ...(assignments.guard?.problems() ?? []),
      ...(loop?.healthy ? [] : ['no Kafka broker answers (KAFKA_BROKERS)']),
      ...assignments
        .unknownSchemas()
        .map(
          ({ partition, offset, detail }) =>
            `${topic} ${partition} waits at offset ${offset}, which a newer release wrote (${detail}): upgrade this service; nothing is skipped`,
        ),
    ],
    guard: assignments.guard,
    async close() {
      // Polling continues until the last commits complete: it delivers their outcomes.
      await assignments.drain();
      closing.abort(new Error('closing'));
      await withDeadline({ ms: 6000, waitingFor: 'the consume loop' }, running);
      await probe.close();
      await assignments.client?.close(CLOSE_MS);
    },
  });
}
