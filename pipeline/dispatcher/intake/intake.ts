import type { Registry } from 'prom-client';
import {
  startPartitionConsumer,
  type PartitionConsumer,
} from '../../../platform/kafka/consumer.ts';
import type { PartitionConsumerOptions } from '../../../platform/kafka/consumer-types.ts';
import type { Log } from '../../../platform/log.ts';
import { metricsOf } from '../../../platform/metrics.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { GROUP, TOPIC } from '../../../schemas/topology.ts';
import { intakeTask, type IntakeTaskDeps } from './task.ts';

/** A chunk takes some 50 KB. */
const BATCH = { records: 100, bytes: 4 * 1024 * 1024, linger: 20 };

export interface IntakeDeps extends Pick<
  PartitionConsumerOptions,
  'settings' | 'clientId' | 'instanceId' | 'crash'
> {
  database: Pick<Database, 'query'>;
  log: Log;
  registry: Registry;
  /** Aborts when the process ends. */
  signal: AbortSignal;
  /** Chunks are due. */
  onCopied: () => void;
}

export interface Intake {
  start(): void;
  stop(): Promise<void>;
  /** Why it, or a partition of it, does not go on: one sentence each, for /readyz. */
  problems(): string[];
}

/**
 * Copies messages.planned into message_chunks, so that the log is never the queue: it is read as
 * fast as PostgreSQL stores, and no account's chunks stand before another's. What an account may
 * have in the queue is bounded where chunks are made: the planner gives a run no turn while too
 * many of its planned recipients have no outcome (pipeline/planner/statements.ts). Several
 * processes share the partitions.
 */
export function openIntake(deps: IntakeDeps): Intake {
  const { database, log, registry, signal, onCopied, ...kafka } = deps;
  const metrics = intakeMetrics(registry);
  let consumer: Promise<PartitionConsumer> | undefined;
  let started: PartitionConsumer | undefined;
  return {
    start() {
      consumer ??= startPartitionConsumer({
        ...{ ...kafka, log, registry, batch: BATCH },
        groupId: GROUP.dispatcher,
        topic: TOPIC.messagesPlanned,
        evidence: { database, before: 'process' },
        assigned: (partition, _committed, fenced) =>
          intakeTask(
            { database, log, metrics, onCopied, signal: AbortSignal.any([signal, fenced]) },
            partition,
          ),
      });
      consumer.then((one) => (started = one), kafka.crash);
    },
    stop: async () => {
      await (await consumer)?.close();
    },
    problems: () => started?.problems() ?? ['waits for Kafka (KAFKA_BROKERS)'],
  };
}

function intakeMetrics(registry: Registry): IntakeTaskDeps['metrics'] {
  const metrics = metricsOf(registry);
  const chunks = metrics.counter(
    'ravand_dispatcher_chunks_total',
    'Chunks of messages.planned that were read: copied into the queue, or ignored, because they were there already or their run does not send.',
    'outcome',
  );
  const unreadable = metrics.counter(
    'ravand_dispatcher_chunks_unreadable_total',
    'Records of messages.planned that cannot be decoded; the planner writes their chunks again.',
  );
  return {
    copied({ copied, ignored }) {
      chunks.inc({ outcome: 'copied' }, copied);
      chunks.inc({ outcome: 'ignored' }, ignored);
    },
    unreadable: () => unreadable.inc(),
  };
}
