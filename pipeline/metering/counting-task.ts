import {
  deadLetterCodec,
  ingestOutcomeCodec,
  rawRecordCodec,
  UnreadableRecord,
  verdictRecordCodec,
} from '../../schemas/codec.ts';
import { retry } from '../../platform/backoff.ts';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import {
  MinuteDeltas,
  countDeadLetter,
  countOutcome,
  countRaw,
  countVerdicts,
  type VerdictPosition,
} from './count.ts';
import { PositionMoved, readPosition, writeCounts } from './write-counts.ts';
import { TOPIC } from '../../schemas/topology.ts';

/**
 * Counts one message and keeps what must be remembered; `state` is what is stored beside the
 * position.
 */
interface Counter {
  count(deltas: MinuteDeltas, value: Buffer): void;
  state(): Record<string, unknown>;
}

function rawCounter(kept: Record<string, unknown>): Counter {
  const redriven = new Set((kept['redriven'] as string[] | undefined) ?? []);
  return {
    count: (deltas, value) => countRaw(deltas, rawRecordCodec.decode(value), redriven),
    state: () => (redriven.size === 0 ? {} : { redriven: [...redriven] }),
  };
}

function deadLetterCounter(kept: Record<string, unknown>): Counter {
  const last = new Map(
    Object.entries((kept['last'] as Record<string, VerdictPosition> | undefined) ?? {}),
  );
  return {
    count: (deltas, value) => countDeadLetter(deltas, last, deadLetterCodec.decode(value)),
    state: () => ({ last: Object.fromEntries(last) }),
  };
}

function verdictCounter(kept: Record<string, unknown>): Counter {
  let last = (kept['last'] as VerdictPosition | undefined) ?? { offset: -1, index: -1 };
  return {
    count: (deltas, value) => {
      last = countVerdicts(deltas, last, verdictRecordCodec.decode(value).verdicts);
    },
    state: () => ({ last }),
  };
}

function outcomeCounter(kept: Record<string, unknown>): Counter {
  const seen = new Map(
    Object.entries((kept['gateways'] as Record<string, number> | undefined) ?? {}),
  );
  return {
    count: (deltas, value) => countOutcome(deltas, seen, ingestOutcomeCodec.decode(value)),
    state: () => ({ gateways: Object.fromEntries(seen) }),
  };
}

/** The topics that the books are made from. */
export const COUNTED_TOPICS: Readonly<Record<string, (kept: Record<string, unknown>) => Counter>> =
  {
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
 * Counting of one partition: what is counted and the position move together in PostgreSQL; the
 * offset in Kafka is committed for operators only.
 */
export async function startCounting(options: TaskOptions): Promise<PartitionTask> {
  const { database, log, topic, partition } = options;
  const patience = {
    base: 200,
    cap: 5000,
    attempts: Number.POSITIVE_INFINITY,
    signal: options.signal,
  };
  const onFailure = (error: unknown, attempt: number) => {
    if (attempt === 0)
      log.warn(
        { err: error, topic, partition, code: 'postgres_unreachable' },
        'the books wait for PostgreSQL',
      );
  };
  const position = await retry({ ...patience, onFailure }, () =>
    readPosition(database, topic, partition),
  );
  let next = position.next;
  const counter = COUNTED_TOPICS[topic]?.(position.state);
  if (!counter) throw new Error(`nothing counts the topic ${topic}`);

  return {
    from: position.next,
    async process(messages: readonly ConsumedMessage[]) {
      const deltas = new MinuteDeltas();
      for (const { value, offset } of messages) {
        if (offset < next || value === null) continue;
        try {
          counter.count(deltas, value);
        } catch (error) {
          // A record that nobody can read is a dead letter of the normaliser; it holds no
          // acceptance that could be counted.
          if (!(error instanceof UnreadableRecord)) throw error;
          log.warn(
            { topic, partition, offset, code: error.code },
            'a record cannot be read and is not counted',
          );
        }
      }
      const end = (messages.at(-1)?.offset ?? next - 1) + 1;
      if (end <= next) return next;
      let uncertain = false;
      await retry({ ...patience, onFailure }, async () => {
        // A lost answer may hide a write that took place: then the position has moved already, by
        // us.
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
          if (error instanceof PositionMoved) throw error;
          uncertain = true;
          throw error;
        }
      });
      next = end;
      return next;
    },
    release: () => Promise.resolve(),
  };
}
