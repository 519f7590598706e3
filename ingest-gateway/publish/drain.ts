import { QuarantineFailed } from '../spool/quarantine.ts';
import type { SpooledFrame } from '../spool/read-cursor.ts';
import type { SpoolQueue, SpoolReader } from '../spool/spool-queue.ts';
import { decodePayload } from '../spool/spooled-record.ts';
import { publishGroup, type SpooledItem } from './drain-group.ts';
import { DrainBlocked, type DrainOptions } from './drain-options.ts';
import type { KnownTopics } from './known-topics.ts';

/** The group with a record that Kafka refuses is done: the next one needs a common producer. */
export class Isolated extends Error {
  override readonly name = 'Isolated';
}

const GROUP_BYTES = 4 * 1024 * 1024;
/** Below this many unread bytes new records stay in memory, or the spool would never empty. */
const CAUGHT_UP_BYTES = 1024 * 1024;

/**
 * Publishes the queue in order until it is empty or this producer is no longer the current one. A
 * group is sent once the one before is durable elsewhere: in Kafka, in the queue of a partition
 * that cannot be written, or in quarantine. Only then is it acknowledged, by the drain that is
 * current. Rejects with the failure; the caller drops the producer and drains again with another.
 */
export async function drainSpool(options: DrainOptions): Promise<void> {
  const { queue, isCurrent } = options;
  const { read: readFrames, acknowledge } = queue.startReading();
  const reader: SpoolReader = {
    read: readFrames,
    acknowledge: async (frames) => (isCurrent() ? acknowledge(frames) : undefined),
  };
  while (isCurrent()) {
    let frames = await read(reader);
    while (frames.length > 0) {
      if (!isCurrent()) return;
      const count = await drainSome(frames, { ...options, reader });
      if (!isCurrent()) return;
      options.report('progressed');
      frames = frames.slice(count);
    }
    if (!isCurrent()) return;
    if (queue.unreadBytes >= CAUGHT_UP_BYTES) continue;
    if (queue.isEmpty) {
      // No await between the check and the change of state: a record could arrive in between.
      options.report('drained');
      await queue.clear();
      return;
    }
    options.report('caught_up');
    if (queue.unreadBytes === 0) await readable(queue);
  }
}

async function read(reader: SpoolReader): Promise<SpooledFrame[]> {
  try {
    return await reader.read(GROUP_BYTES);
  } catch (error) {
    throw error instanceof QuarantineFailed ? blocked(error) : error;
  }
}

/** Publishes the first frames, acknowledges them, and resolves with their number. */
async function drainSome(
  frames: readonly SpooledFrame[],
  options: DrainOptions & { reader: SpoolReader },
): Promise<number> {
  const { reader, topics } = options;
  const items: SpooledItem[] = [];
  for (const frame of frames) {
    const item = itemOf(frame, topics);
    if (item && !isTooLarge(item, topics)) items.push(item);
    else if (items.length > 0) break;
    else return drainOdd(frame, { ...options, item });
  }
  const refused = await publishGroup(items, options);
  if (!options.isCurrent()) return 0;
  let done = 0;
  for (const [at, { frame, record }] of items.entries()) {
    if (!refused.has(frame)) continue;
    await reader.acknowledge(frames.slice(done, at));
    done = at;
    // Should it not be kept now, the next drain finds it without sending anything again.
    topics.learnRefusal(record.topic, record.value.length);
    await setAside(frame, options);
  }
  await reader.acknowledge(frames.slice(done, items.length));
  if (options.isIsolating) throw new Isolated('each record of the group was sent alone');
  return items.length;
}

/** A frame that is not for Kafka. */
async function drainOdd(
  frame: SpooledFrame,
  options: DrainOptions & { reader: SpoolReader; item: SpooledItem | undefined },
): Promise<number> {
  if (!options.item)
    throw new DrainBlocked(
      'unknown_version',
      `the spooled record at ${frame.start} of ${frame.segment.path} was written by another version of the gateway: start that version, or a later one, on this SPOOL_DIR`,
    );
  await setAside(frame, options);
  await options.reader.acknowledge([frame]);
  return 1;
}

async function setAside(frame: SpooledFrame, options: DrainOptions): Promise<void> {
  try {
    await options.queue.setAside(frame);
  } catch (error) {
    throw error instanceof QuarantineFailed ? blocked(error) : error;
  }
  options.onSetAside(frame, 'Kafka refuses it: it exceeds max.message.bytes');
}

function blocked(error: QuarantineFailed): DrainBlocked {
  return new DrainBlocked(error.reason, error.message, { cause: error });
}

/** Undefined when the frame's version or fields are unknown. */
function itemOf(
  frame: SpooledFrame,
  topics: Pick<KnownTopics, 'partitionsOf'>,
): SpooledItem | undefined {
  const record = decodePayload(frame.payload);
  if (!record) return undefined;
  const partition = record.partition % topics.partitionsOf(record.topic);
  return { frame, record: { ...record, partition } };
}

function isTooLarge({ record }: SpooledItem, topics: Pick<KnownTopics, 'limitOf'>): boolean {
  return record.value.length > topics.limitOf(record.topic);
}

/** Resolves when more can be read, or after 100 ms. */
async function readable(queue: SpoolQueue): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, 100);
    queue.onReadable = () => {
      clearTimeout(timer);
      queue.onReadable = () => undefined;
      resolve();
    };
  });
}
