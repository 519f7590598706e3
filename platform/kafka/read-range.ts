import { withDeadline } from '../deadline.ts';
import type { KafkaSettings } from './connection.ts';
import type { ConsumedMessage } from './consumer-types.ts';
import { logicalTopic, physicalTopic } from './topic-names.ts';
import {
  assignStandalone,
  closeStandalone,
  connectStandalone,
  pollStandalone,
  type StandaloneConsumer,
} from './standalone-consumer.ts';

/** Offsets `from` (included) to `to` (not included) of one partition. */
export interface LogRange {
  topic: string;
  partition: number;
  from: number;
  to: number;
}

export interface RecordPosition {
  topic: string;
  partition: number;
  offset: number;
}

/** The beginning of the range is no longer retained, before or while it was read. */
export class RangeGone extends Error {
  readonly firstKept: number;
  constructor({ topic, partition, from }: LogRange, firstKept: number) {
    super(`${topic} ${partition} does not hold offset ${from} any more: it begins at ${firstKept}`);
    this.name = 'RangeGone';
    this.firstKept = firstKept;
  }
}

/** How a reader fetches, and how long it waits. */
interface FetchProfile {
  connectMs: number;
  /** After this long without a record the broker counts as unreachable, ms. */
  silenceMs: number;
  pollMs: number;
  maxRecordsPerPoll: number;
  prefetchKib: number;
  fetchBytes: number;
}

const MIB = 1024 * 1024;

const PROFILES = {
  /** Long ranges; memory is bounded by what the client prefetches (32 MiB). */
  bulk: {
    ...{ connectMs: 10_000, silenceMs: 30_000, pollMs: 200 },
    ...{ maxRecordsPerPoll: 1000, prefetchKib: 32 * 1024, fetchBytes: 4 * MIB },
  },
  /** Short ranges for a person who waits for the answer. */
  interactive: {
    ...{ connectMs: 4000, silenceMs: 6000, pollMs: 100 },
    ...{ maxRecordsPerPoll: 500, prefetchKib: 32 * 1024, fetchBytes: MIB },
  },
  /** Single records. */
  single: {
    ...{ connectMs: 2000, silenceMs: 6000, pollMs: 50 },
    ...{ maxRecordsPerPoll: 64, prefetchKib: 1024, fetchBytes: 64 * 1024 },
  },
} satisfies Record<string, FetchProfile>;

export interface RangeReaderOptions {
  settings: KafkaSettings;
  clientId: string;
  /** Defaults to `bulk`. */
  profile?: keyof typeof PROFILES;
}

/** Bounds of one search: at most so many records, and at most so long, ms. */
export interface ReadLimits {
  records: number;
  ms: number;
}

/**
 * `end`: the whole range was read; `found`: the visitor ended the search; `limit`: the range is
 * larger than its limits. `next` is the first offset that was not read.
 */
export interface RangeRead {
  ended: 'end' | 'found' | 'limit';
  next: number;
}

/**
 * Reads ranges of topics without joining a group and without committing: no group's lag changes.
 * Connects on first use, and again after a failure. One read at a time.
 */
export class RangeReader {
  readonly #options: RangeReaderOptions;
  readonly #profile: FetchProfile;
  #connecting: Promise<StandaloneConsumer> | undefined;

  constructor(options: RangeReaderOptions) {
    this.#options = options;
    this.#profile = PROFILES[options.profile ?? 'bulk'];
  }

  /** Records of a range, in batches. Rejects with RangeGone, on silence, or on abort. */
  async *batches(
    range: LogRange,
    signal: AbortSignal,
  ): AsyncGenerator<ConsumedMessage[], void, void> {
    let next = range.from;
    if (next >= range.to) return;
    signal.throwIfAborted();
    for await (const messages of this.#poll([startOf(range)])) {
      signal.throwIfAborted();
      const [first] = messages;
      if (!first) continue;
      if (first.offset !== next) throw new RangeGone({ ...range, from: next }, first.offset);
      const wanted = messages.filter(({ offset }) => offset < range.to);
      next = (wanted.at(-1)?.offset ?? next - 1) + 1;
      if (wanted.length > 0) yield wanted;
      if (next >= range.to || wanted.length < messages.length) return;
    }
  }

  /**
   * Passes the records of a range to `visit`, in order, until it returns 'found'. Records that are
   * no longer retained are skipped. Rejects when no broker answers in time.
   */
  async search(
    { limits, ...range }: LogRange & { limits: ReadLimits },
    visit: (record: ConsumedMessage) => 'found' | undefined,
  ): Promise<RangeRead> {
    let next = range.from;
    if (next >= range.to) return { ended: 'end', next };
    const deadline = performance.now() + limits.ms;
    let records = 0;
    for await (const messages of this.#poll([startOf(range)], limits.records)) {
      for (const message of messages) {
        if (message.offset >= range.to) return { ended: 'end', next: range.to };
        next = message.offset + 1;
        records++;
        if (visit(message) === 'found') return { ended: 'found', next };
        if (records >= limits.records && next < range.to) return { ended: 'limit', next };
      }
      if (next >= range.to) return { ended: 'end', next };
      if (performance.now() > deadline) return { ended: 'limit', next };
    }
    return { ended: 'end', next };
  }

  /** First record with a value from each position on; rejects after `ms` without one. */
  async *firstRecords<P extends RecordPosition>(
    positions: readonly P[],
    ms: number,
  ): AsyncGenerator<[P, ConsumedMessage], void, void> {
    const deadline = performance.now() + ms;
    const byPartition = Map.groupBy(positions, (one) => `${one.topic}/${one.partition}`);
    // An assignment holds each partition once: further positions follow in rounds.
    for (let round = 0; ; round++) {
      const missing = new Map(
        [...byPartition].flatMap(([partition, own]): [string, P][] => {
          const position = own[round];
          return position ? [[partition, position]] : [];
        }),
      );
      if (missing.size === 0) return;
      for await (const messages of this.#poll([...missing.values()])) {
        for (const message of messages) {
          const partition = `${message.topic}/${message.partition}`;
          const position = missing.get(partition);
          if (!position || message.offset < position.offset || !message.value) continue;
          missing.delete(partition);
          yield [position, message];
        }
        if (missing.size === 0) break;
        if (performance.now() > deadline)
          throw new Error(`${missing.size} records did not arrive within ${ms} ms`);
      }
    }
  }

  async close(): Promise<void> {
    const connecting = this.#connecting;
    this.#connecting = undefined;
    const consumer = await connecting?.catch(() => undefined);
    if (consumer) await closeStandalone(consumer);
  }

  /** Polls these partitions; yields empty batches too, so that callers can check their bounds. */
  async *#poll(
    positions: readonly RecordPosition[],
    maxRecords = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<ConsumedMessage[], void, void> {
    const { settings, clientId } = this.#options;
    const { silenceMs, pollMs, maxRecordsPerPoll } = this.#profile;
    const [{ topic, partition } = { topic: '', partition: 0 }] = positions;
    const poll = { maxRecords: Math.min(maxRecordsPerPoll, maxRecords), ms: pollMs };
    // A reused client may still hand out records of the assignment before.
    const isAssigned = (message: ConsumedMessage) =>
      positions.some(
        (one) =>
          one.partition === message.partition &&
          logicalTopic(physicalTopic(one.topic)) === message.topic &&
          one.offset <= message.offset,
      );
    try {
      this.#connecting ??= connectStandalone({ settings, clientId, ...this.#profile });
      const consumer = await this.#connecting;
      assignStandalone(consumer, positions);
      let lastRecordAt = performance.now();
      for (;;) {
        const messages = await withDeadline(
          { ms: silenceMs, waitingFor: `records of ${topic} ${partition}` },
          pollStandalone(consumer, poll),
        );
        if (messages.length > 0) lastRecordAt = performance.now();
        else if (performance.now() - lastRecordAt > silenceMs)
          throw new Error(
            `no record of ${topic} ${partition} came for ${silenceMs / 1000} s: check the broker with ./ravand status`,
          );
        yield messages.filter(isAssigned);
      }
    } catch (error) {
      void this.close();
      throw error;
    } finally {
      const consumer = await this.#connecting?.catch(() => undefined);
      if (consumer?.isConnected() === true) consumer.unassign();
    }
  }
}

function startOf({ topic, partition, from }: LogRange): RecordPosition {
  return { topic, partition, offset: from };
}

/** Reads one range over a connection of its own (RangeReader.batches). */
export async function* readRange({
  range,
  signal,
  ...options
}: RangeReaderOptions & { range: LogRange; signal: AbortSignal }): AsyncGenerator<
  ConsumedMessage[],
  void,
  void
> {
  const reader = new RangeReader(options);
  try {
    yield* reader.batches(range, signal);
  } finally {
    await reader.close();
  }
}
