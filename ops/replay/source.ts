import { ContextReader } from '../../events/normalise.ts';
import { UserAgentCache } from '../../events/user-agent.ts';
import type { RawEvent } from '../../pipeline/replay/raw-events.ts';
import { readRawEvents } from '../../pipeline/replay/raw-events.ts';
import { eventOffsetKey } from '../../schemas/log-position.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { readRange, type LogRange } from '../../platform/kafka/read-range.ts';
import type { VerdictKind } from '../../schemas/records.ts';
import type { Connections } from './connections.ts';
import { readLetter } from './dead-letters.ts';
import { readRun } from './runs.ts';
import type { ReplayTopic } from './request.ts';
import { openVerdicts, type Verdicts } from './verdicts.ts';
import { TOPIC } from '../../schemas/topology.ts';

/** An event of the replayed range with what the pipeline said of its place when it took it. */
export interface SourceEvent extends RawEvent {
  said: VerdictKind | undefined;
  /**
   * Whether the verdicts of the pipeline reach this place: then nothing said means that its row was
   * published.
   */
  covered: boolean;
}

/** Consecutive records of one partition of the replayed topic. */
export interface SourceBatch {
  partition: number;
  /** Offsets, both included. */
  first: number;
  last: number;
  /** When the log took the last record, ms. */
  appendedAt: number;
  events: SourceEvent[];
  /** Records of which no event can be named. */
  unreadable: number;
}

interface SourceOptions {
  connections: Connections;
  topic: ReplayTopic;
  partition: number;
  from: number;
  to: number;
  /** A batch ends behind the record that reaches so many events. */
  most: number;
  signal: AbortSignal;
}

const REMEMBERED_USER_AGENTS = 10_000;

/** What one record gives: events, or nothing that can be named. */
type Reader = (message: ConsumedMessage) => { events: SourceEvent[]; unreadable: boolean };

/** The events of a range of the log, in order, in batches. */
export async function* sourceBatches(
  options: SourceOptions,
): AsyncGenerator<SourceBatch, void, void> {
  const { connections, topic, partition, from, to, most, signal } = options;
  const range: LogRange = { topic, partition, from, to };
  const contexts = new ContextReader(new UserAgentCache(REMEMBERED_USER_AGENTS));
  const read = READERS[topic](contexts);
  let verdicts: Verdicts | undefined;
  let batch: SourceBatch | undefined;
  const finish = async (done: SourceBatch): Promise<SourceBatch> => {
    if (topic !== TOPIC.raw) return done;
    const said = await verdicts?.log.between(done.first, done.last);
    for (const event of done.events) {
      event.said = said?.get(eventOffsetKey(event.at));
      event.covered = event.at.offset >= (verdicts?.coveredFrom ?? Number.POSITIVE_INFINITY);
    }
    return done;
  };
  try {
    for await (const messages of readRange({
      settings: connections.settings,
      clientId: 'ravand-replay',
      range,
      signal,
    })) {
      for (const message of messages) {
        if (topic === TOPIC.raw)
          verdicts ??= await openVerdicts(connections, {
            partition,
            appendedAt: message.timestamp,
            signal,
          });
        const { offset, timestamp } = message;
        batch ??= {
          partition,
          first: offset,
          last: offset,
          appendedAt: timestamp,
          events: [],
          unreadable: 0,
        };
        const { events, unreadable } = read(message);
        batch.last = offset;
        batch.appendedAt = timestamp;
        batch.events.push(...events);
        if (unreadable) batch.unreadable++;
        if (batch.events.length < most && batch.last - batch.first < 10 * most) continue;
        yield await finish(batch);
        batch = undefined;
      }
    }
    if (batch) yield await finish(batch);
  } finally {
    await verdicts?.log.close();
  }
}

const READERS: Record<ReplayTopic, (contexts: ContextReader) => Reader> = {
  [TOPIC.raw]: (contexts) => (message) => {
    const { events, unreadable } = readRawEvents(message, contexts);
    return {
      events: events.map((event) => ({ ...event, said: undefined, covered: false })),
      unreadable: unreadable !== undefined,
    };
  },
  [TOPIC.normalised]: () => (message) => {
    const events = readRun(message.value);
    return { events: events ?? [], unreadable: events === undefined };
  },
  [TOPIC.dead]: (contexts) => (message) => {
    const events = readLetter(message.value, contexts);
    return { events: events ?? [], unreadable: events === undefined };
  },
};
