import { offsetAfter, readOrSkip } from '../../../platform/kafka/batch-task.ts';
import type { ConsumedMessage, PartitionTask } from '../../../platform/kafka/consumer-types.ts';
import { isAboutValues } from '../../../platform/grouped-calls.ts';
import { epochAt, readEpochs } from '../../../platform/log/epochs.ts';
import type { Log } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { retryUntilAborted } from '../../../platform/retry-until-aborted.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import {
  copyChunks,
  firstUncopied,
  type IntakePosition,
  type PlannedChunk,
} from './copy-chunks.ts';

export interface IntakeTaskDeps {
  database: Pick<Database, 'query'>;
  log: Log;
  /** Aborts when the partition is revoked. */
  signal: AbortSignal;
  metrics: {
    /** `ignored`: there already, or of a run that does not send. */
    copied: (chunks: { copied: number; ignored: number }) => void;
    unreadable: () => void;
  };
  /** Chunks are due. */
  onCopied: () => void;
}

/**
 * Copies the chunks of one partition into message_chunks, each once. The position in PostgreSQL
 * decides where it begins, also after PostgreSQL was restored to an earlier time, or the log went
 * back; the offsets in Kafka are for operators. Retries while PostgreSQL is unavailable.
 */
export async function intakeTask(deps: IntakeTaskDeps, partition: number): Promise<PartitionTask> {
  const { database, log, signal, metrics, onCopied } = deps;
  const retrying = <T>(what: string, operation: () => Promise<T>): Promise<T> =>
    retryUntilAborted(
      { log, signal, code: 'intake_waiting', what, isFinal: isAboutValues },
      operation,
    );
  const epochs = await retrying('reading the epochs of the log', () =>
    readEpochs(database, TOPIC.messagesPlanned),
  );
  const starts = epochs.of(partition);
  const next = await retrying('reading the position of chunks', () =>
    firstUncopied(database, partition, starts),
  );
  const copy = async (planned: PlannedChunk[], to: IntakePosition): Promise<number> => {
    try {
      return await retrying('copying chunks of campaigns', () => copyChunks(database, planned, to));
    } catch (error) {
      if (!isAboutValues(error)) throw error;
      if (planned.length > 1) return await copyEach(planned, to);
      metrics.unreadable();
      const [one] = planned;
      log.error(
        { err: error, code: 'chunk_refused', run: one?.chunk.run_id, chunk: one?.chunk.chunk },
        'PostgreSQL cannot store a chunk of a campaign: its recipients get nothing; report it',
      );
      return await copy([], to);
    }
  };
  /** One that cannot be stored does not keep the others from it. */
  const copyEach = async (planned: readonly PlannedChunk[], to: IntakePosition) => {
    let copied = 0;
    for (const one of planned) copied += await copy([one], { ...to, next });
    return copied + (await copy([], to));
  };
  return {
    from: next,
    async process(messages) {
      const end = offsetAfter(messages);
      const planned = messages.flatMap((message) => chunkOf(message, deps));
      const to = { partition, epoch: epochAt(starts, end - 1), next: end };
      const copied = await copy(planned, to);
      metrics.copied({ copied, ignored: planned.length - copied });
      if (copied > 0) onCopied();
      return end;
    },
    release: () => Promise.resolve(),
  };
}

function chunkOf(message: ConsumedMessage, { log, metrics }: IntakeTaskDeps): PlannedChunk[] {
  return readOrSkip(
    message,
    ({ value }) => {
      const record = value ?? Buffer.alloc(0);
      return [{ chunk: messageChunkCodec.decode(record), record }];
    },
    {
      log,
      warning: 'a chunk of a campaign cannot be decoded: the planner writes it again',
      onUnreadable: () => metrics.unreadable(),
    },
  );
}
