import { withDeadline } from '../../platform/deadline.ts';
import { PublishFailed, type LogProducer } from '../../platform/kafka/producer.ts';
import type { SpooledFrame } from '../spool/read-cursor.ts';
import type { Spool } from '../spool/spool.ts';
import { decodePayload } from '../spool/spooled-record.ts';
import type { Fact } from './evolve.ts';

export interface DrainOptions {
  spool: Spool;
  producer: LogProducer;
  partitionsOf: (topic: string) => number | undefined;
  /** A group that is not acknowledged within this many ms has failed. */
  timeout: number;
  /** Sends one frame at a time, to find the record that Kafka refused in the last attempt. */
  isOneByOne: boolean;
  /** False once another producer has replaced this one. */
  isCurrent: () => boolean;
  report: (fact: Extract<Fact, 'progressed' | 'caught_up' | 'drained'>) => void;
  onQuarantined: (frame: SpooledFrame, reason: string) => void;
}

const GROUP_BYTES = 4 * 1024 * 1024;
/** Below this many unread bytes new records stay in memory, or the spool would never empty. */
const CAUGHT_UP_BYTES = 1024 * 1024;
/** Kafka's MESSAGE_TOO_LARGE: no later attempt can succeed. */
const TOO_LARGE = 10;

/** Kafka refuses a record of the group, and always will. */
export class RecordRefused extends Error {
  override readonly name = 'RecordRefused';
}

/**
 * Publishes the spool in order until it is empty or this producer is no longer the current one. A
 * group is sent once the one before is acknowledged: when a record arrives, in whichever attempt,
 * everything before it has arrived. Rejects with the failure; the caller drops the producer and
 * drains again with another.
 */
export async function drainSpool(options: DrainOptions): Promise<void> {
  const { spool } = options;
  let isOneByOne = options.isOneByOne;
  spool.rewind();
  while (options.isCurrent()) {
    const frames = await spool.read(isOneByOne ? 1 : GROUP_BYTES);
    if (!options.isCurrent()) return;
    if (frames.length > 0) {
      await publishGroup(frames, { ...options, isOneByOne: isOneByOne });
      await spool.acknowledge(frames);
      isOneByOne = false;
      options.report('progressed');
    }
    if (spool.unreadBytes >= CAUGHT_UP_BYTES) continue;
    if (spool.isEmpty) {
      // No await between the check and the change of state: a record could arrive in between.
      options.report('drained');
      await spool.clear();
      return;
    }
    options.report('caught_up');
    if (spool.unreadBytes === 0) await readable(spool);
  }
}

/** Rejects with the first failure. Sends nothing after a refused record: order must hold. */
async function publishGroup(frames: readonly SpooledFrame[], options: DrainOptions): Promise<void> {
  const acknowledged = new Promise<readonly SpooledFrame[]>((resolve, reject) => {
    const unusable: SpooledFrame[] = [];
    let left = frames.length;
    const complete = (error?: Error) => {
      if (error) reject(error);
      else if (--left === 0) resolve(unusable);
    };
    for (const frame of frames) {
      const record = decodePayload(frame.payload);
      if (!record) {
        unusable.push(frame);
        complete();
        continue;
      }
      const partitions = options.partitionsOf(record.topic);
      const partition = partitions === undefined ? record.partition : record.partition % partitions;
      options.producer.send({ ...record, partition }, complete);
    }
  });
  try {
    const unusable = await withDeadline(
      { ms: options.timeout, waitingFor: 'the acknowledgement of spooled records' },
      acknowledged,
    );
    for (const frame of unusable)
      await quarantine(frame, 'it was written by another version', options);
  } catch (error) {
    if (!(error instanceof PublishFailed && error.kafkaCode === TOO_LARGE)) throw error;
    const [frame] = frames;
    if (!options.isOneByOne || !frame) throw new RecordRefused(error.message, { cause: error });
    await quarantine(frame, error.message, options);
  }
}

async function quarantine(
  frame: SpooledFrame,
  reason: string,
  options: DrainOptions,
): Promise<void> {
  await options.spool.quarantineFrame(frame);
  options.onQuarantined(frame, reason);
}

/** Resolves when more can be read, or after 100 ms. */
async function readable(spool: Spool): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, 100);
    spool.onReadable = () => {
      clearTimeout(timer);
      spool.onReadable = () => undefined;
      resolve();
    };
  });
}
