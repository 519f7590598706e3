import type { KeyObject } from 'node:crypto';
import { platformEvent, type PlatformEvent } from '../../../events/messages/platform-event.ts';
import type { EventsToWrite, EventWriter } from '../../../ingest/event-writer.ts';
import type { LogRecord } from '../../../ingest/log-record.ts';
import { crc32c } from '../../../platform/crc32c.ts';
import type { MessageOutcome } from '../../../schemas/records.ts';
import { MESSAGE_PARTITIONS, TOPIC } from '../../../schemas/topology.ts';

/** An outcome, and its record message-outcome.v1. */
export interface ReadOutcome {
  outcome: MessageOutcome;
  record: Buffer;
}

export interface PublishPorts {
  /** Resolves with the records that are not durable. */
  publish: (records: readonly LogRecord[]) => Promise<readonly LogRecord[]>;
  writer: Pick<EventWriter, 'write'>;
  /** platform/messages/event-key.ts */
  eventKey: KeyObject;
  /** ms since the epoch */
  now: () => number;
}

/** Records that wait for their acknowledgement at a time. */
const MAX_RECORDS = 4000;
/** Of one raw record at most. */
const MAX_EVENTS = 500;
/** Where the events say that they came in. */
const PATH = '/messages';

/**
 * Writes outcomes to messages.outcomes, and the events about them to events.raw. All that is
 * repeated after a crash has the same ids: the projection keeps one row of a message, and the
 * normaliser one event. Rejects when something is not durable.
 */
export async function publishOutcomes(
  outcomes: readonly ReadOutcome[],
  ports: PublishPorts,
): Promise<void> {
  const written = await Promise.allSettled([
    publishRecords(outcomes, ports),
    ...eventsOf(outcomes, ports).map(async (events) => {
      if ((await ports.writer.write(events)) === undefined)
        throw new Error('events of outcomes are not durable');
    }),
  ]);
  const failed = written.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}

async function publishRecords(
  outcomes: readonly ReadOutcome[],
  { publish }: PublishPorts,
): Promise<void> {
  for (let from = 0; from < outcomes.length; from += MAX_RECORDS) {
    const records = outcomes.slice(from, from + MAX_RECORDS).map(recordOf);
    if ((await publish(records)).length > 0) throw new Error('outcomes are not durable');
  }
}

/** A message's outcomes go to one partition, however often they are written. */
function recordOf({ outcome, record }: ReadOutcome): LogRecord {
  const partition = crc32c(Buffer.from(outcome.message_id)) % MESSAGE_PARTITIONS;
  const topic = TOPIC.messagesOutcomes;
  return { topic, partition, key: null, value: record, accountId: outcome.account_id, events: 0 };
}

/** Some events of one account each. */
function eventsOf(
  outcomes: readonly ReadOutcome[],
  { eventKey, now }: PublishPorts,
): EventsToWrite[] {
  const receivedAt = now();
  const byAccount = Map.groupBy(outcomes, ({ outcome }) => outcome.account_id);
  return [...byAccount].flatMap(([accountId, own]) => {
    const events = own.flatMap(({ outcome }) => platformEvent(outcome, eventKey) ?? []);
    return Array.from({ length: Math.ceil(events.length / MAX_EVENTS) }, (_, at) =>
      batchOf(events.slice(at * MAX_EVENTS, (at + 1) * MAX_EVENTS), { accountId, receivedAt }),
    );
  });
}

function batchOf(
  events: readonly PlatformEvent[],
  { accountId, receivedAt }: { accountId: number; receivedAt: number },
): EventsToWrite {
  const bodies = events.map(({ body }) => JSON.stringify({ type: 'track', ...body }));
  return {
    request: {
      // An event belongs to the account: it came with no app and no write key.
      principal: { accountId, appId: 0, writeKeyId: 0 },
      ...{ source: 'platform', path: PATH, shape: 'batch', receivedAt },
      ...{ ip: '', userAgent: '', origin: '', trace: '' },
    },
    decided: { received: events.length, rejected: [], counts: [] },
    events: events.map(({ messageId, distinctId, timestamp }, index) => ({
      ...{ index, type: 'track', message_id: messageId, generated: false },
      ...{ distinctId, timestamp },
    })),
    bytes: {
      whole: undefined,
      batchOf: (indices) =>
        Buffer.from(`{"batch":[${indices.map((index) => bodies[index] ?? '').join(',')}]}`),
    },
  };
}
