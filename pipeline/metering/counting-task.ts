import {
  deadLetterCodec,
  ingestOutcomeCodec,
  isUnknownSchema,
  UnreadableRecord,
  verdictRecordCodec,
} from '../../schemas/codec.ts';
import { RawReader } from '../../schemas/raw-reader.ts';
import { rawValuesIn } from '../../schemas/raw-batch.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { MinuteDeltas, countDeadLetter, countOutcome, countRaw, countVerdicts } from './count.ts';
import { PositionMoved, readPosition, writeCounts } from './write-counts.ts';
import { BEFORE_FIRST, type PartitionPosition } from '../../schemas/log-position.ts';
import { epochAsOf, readEpochs } from '../../platform/log/epochs.ts';
import { TOPIC } from '../../schemas/topology.ts';

/**
 * Counts messages. `state` is stored with the position and given back to the next process.
 */
interface Counter {
  count(deltas: MinuteDeltas, value: Buffer, at: { partition: number; offset: number }): void;
  state(): Record<string, unknown>;
}

/**
 * Epoch of an offset of the partition that a record names: the one it had when the record, which is
 * at `at`, was written.
 */
type NamedEpoch = (
  named: { topic: string; partition: number; offset: number },
  at: { partition: number; offset: number },
) => number;

/** A position as it is stored; before epochs were stored there was one. */
type StoredPosition = Omit<PartitionPosition, 'epoch'> & { epoch?: number };

function positionOf({ epoch = 0, offset, index }: StoredPosition): PartitionPosition {
  return { epoch, offset, index };
}

function rawCounter(stored: Record<string, unknown>): Counter {
  const redriven = new Set((stored['redriven'] as string[] | undefined) ?? []);
  const reader = new RawReader();
  return {
    count(deltas, value) {
      let failed: UnreadableRecord | undefined;
      for (const one of rawValuesIn(value)) {
        try {
          countRaw(deltas, reader.counts(one), redriven);
        } catch (error) {
          if (!(error instanceof UnreadableRecord) || isUnknownSchema(error)) throw error;
          // The other records of its batch count.
          failed ??= error;
        }
      }
      if (failed) throw failed;
    },
    state: () => (redriven.size === 0 ? {} : { redriven: [...redriven] }),
  };
}

function deadLetterCounter(stored: Record<string, unknown>, epochOf: NamedEpoch): Counter {
  const last = new Map(
    Object.entries((stored['last'] as Record<string, StoredPosition> | undefined) ?? {}).map(
      ([key, position]) => [key, positionOf(position)],
    ),
  );
  return {
    count(deltas, value, at) {
      const named = (partition: number, offset: number) =>
        epochOf({ topic: TOPIC.normalised, partition, offset }, at);
      countDeadLetter(deltas, last, deadLetterCodec.decode(value), named);
    },
    state: () => ({ last: Object.fromEntries(last) }),
  };
}

function verdictCounter(stored: Record<string, unknown>, epochOf: NamedEpoch): Counter {
  const known = stored['last'] as StoredPosition | undefined;
  let last = known ? positionOf(known) : BEFORE_FIRST;
  return {
    count(deltas, value, at) {
      const { partition, verdicts } = verdictRecordCodec.decode(value);
      const named = (offset: number) => epochOf({ topic: TOPIC.raw, partition, offset }, at);
      last = countVerdicts(deltas, last, verdicts, named);
    },
    state: () => ({ last }),
  };
}

function outcomeCounter(stored: Record<string, unknown>): Counter {
  const seen = new Map(
    Object.entries((stored['gateways'] as Record<string, number> | undefined) ?? {}),
  );
  return {
    count: (deltas, value) => countOutcome(deltas, seen, ingestOutcomeCodec.decode(value)),
    state: () => ({ gateways: Object.fromEntries(seen) }),
  };
}

/** The counted topics, and their counters. */
export const COUNTED_TOPICS: Readonly<
  Record<string, (stored: Record<string, unknown>, epochOf: NamedEpoch) => Counter>
> = {
  [TOPIC.raw]: rawCounter,
  [TOPIC.verdicts]: verdictCounter,
  [TOPIC.outcomes]: outcomeCounter,
  [TOPIC.dead]: deadLetterCounter,
};

interface TaskOptions {
  database: Database;
  log: Log;
  topic: string;
  partition: number;
  monthOf: (at: number) => string;
  signal: AbortSignal;
  /** Called after each change of the books. */
  counted: () => void;
}

/**
 * Counts one partition. Counts and position move in one PostgreSQL transaction; the offset in Kafka
 * is committed only for operators.
 */
export async function startCounting(options: TaskOptions): Promise<PartitionTask> {
  const { database, log, topic, partition } = options;
  const retryContext = {
    log,
    signal: options.signal,
    code: 'postgres_unreachable',
    what: `counting partition ${partition} of ${topic} for the reconciliation`,
  };
  const start = await retryUntilAborted(retryContext, () =>
    readPosition(database, topic, partition),
  );
  let next = start.next;
  const [own, raw, normalised] = await retryUntilAborted(retryContext, () =>
    Promise.all([topic, TOPIC.raw, TOPIC.normalised].map((of) => readEpochs(database, of))),
  );
  const counter = COUNTED_TOPICS[topic]?.(start.state, (named, at) => {
    const of = named.topic === TOPIC.raw ? raw : normalised;
    // A growth that was recorded since this task began must not change what the books have counted.
    const starts = of?.of(named.partition).filter((start) => start.replacesNothing !== true);
    return epochAsOf(starts ?? [], named.offset, own?.at(at.partition, at.offset) ?? 0);
  });
  if (!counter) throw new Error(`nothing counts the topic ${topic}`);

  return {
    from: start.next,
    async process(messages: readonly ConsumedMessage[]) {
      const deltas = new MinuteDeltas();
      for (const { value, offset } of messages) {
        if (offset < next || value === null) continue;
        try {
          counter.count(deltas, value, { partition, offset });
        } catch (error) {
          // The normaliser makes a dead letter of an undecodable record; its events are unknown.
          if (!(error instanceof UnreadableRecord) || isUnknownSchema(error)) throw error;
          log.warn(
            { topic, partition, offset, code: error.code },
            'a record cannot be read and is not counted',
          );
        }
      }
      const end = (messages.at(-1)?.offset ?? next - 1) + 1;
      if (end <= next) return next;
      let uncertain = false;
      // Another process counts the partition: a retry would never succeed.
      const isFinal = (error: unknown) => error instanceof PositionMoved;
      await retryUntilAborted({ ...retryContext, isFinal }, async () => {
        // The write may have succeeded although its reply was lost: then this process has moved
        // the position already.
        if (uncertain && (await readPosition(database, topic, partition)).next === end) return;
        try {
          await writeCounts(database, {
            topic,
            partition,
            from: next,
            next: end,
            state: counter.state(),
            deltas: deltas.all(),
            monthOf: options.monthOf,
          });
        } catch (error) {
          uncertain ||= !(error instanceof PositionMoved);
          throw error;
        }
      });
      next = end;
      options.counted();
      return next;
    },
    release: () => Promise.resolve(),
  };
}
