import {
  deadLetterCodec,
  ingestOutcomeCodec,
  isUnknownSchema,
  rawRecordCodec,
  UnreadableRecord,
  verdictRecordCodec,
} from '../../schemas/codec.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { MinuteDeltas, countDeadLetter, countOutcome, countRaw, countVerdicts } from './count.ts';
import { PositionMoved, readPosition, writeCounts } from './write-counts.ts';
import type { EventOffset } from '../../schemas/log-position.ts';
import { TOPIC } from '../../schemas/topology.ts';

/**
 * Counts messages. `state` is stored with the position and given back to the next process.
 */
interface Counter {
  count(deltas: MinuteDeltas, value: Buffer): void;
  state(): Record<string, unknown>;
}

function rawCounter(stored: Record<string, unknown>): Counter {
  const redriven = new Set((stored['redriven'] as string[] | undefined) ?? []);
  return {
    count: (deltas, value) => countRaw(deltas, rawRecordCodec.decode(value), redriven),
    state: () => (redriven.size === 0 ? {} : { redriven: [...redriven] }),
  };
}

function deadLetterCounter(stored: Record<string, unknown>): Counter {
  const last = new Map(
    Object.entries((stored['last'] as Record<string, EventOffset> | undefined) ?? {}),
  );
  return {
    count: (deltas, value) => countDeadLetter(deltas, last, deadLetterCodec.decode(value)),
    state: () => ({ last: Object.fromEntries(last) }),
  };
}

function verdictCounter(stored: Record<string, unknown>): Counter {
  let last = (stored['last'] as EventOffset | undefined) ?? { offset: -1, index: -1 };
  return {
    count: (deltas, value) => {
      last = countVerdicts(deltas, last, verdictRecordCodec.decode(value).verdicts);
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
  Record<string, (stored: Record<string, unknown>) => Counter>
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
  const counter = COUNTED_TOPICS[topic]?.(start.state);
  if (!counter) throw new Error(`nothing counts the topic ${topic}`);

  return {
    from: start.next,
    async process(messages: readonly ConsumedMessage[]) {
      const deltas = new MinuteDeltas();
      for (const { value, offset } of messages) {
        if (offset < next || value === null) continue;
        try {
          counter.count(deltas, value);
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
      await retryUntilAborted(retryContext, async () => {
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
      return next;
    },
    release: () => Promise.resolve(),
  };
}
