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
  /**
   * One frame at a time: the last attempt met a record that the log refuses, and it has to be
   * found.
   */
  isCautious: boolean;
  /** False once another producer has taken over. */
  isCurrent: () => boolean;
  report: (fact: Extract<Fact, 'progressed' | 'caught_up' | 'drained'>) => void;
  onSetAside: (frame: SpooledFrame, why: string) => void;
}

const GROUP_BYTES = 4 * 1024 * 1024;
/**
 * Below this what is new waits in memory for the moment until the spool is empty; otherwise a busy
 * gateway would never leave it.
 */
const CAUGHT_UP_BYTES = 1024 * 1024;
/** Kafka's MESSAGE_TOO_LARGE: no later attempt can succeed. */
const TOO_LARGE = 10;

/** The log refuses a record for good, in this group or as this very frame. */
export class RecordRefused extends Error {
  override readonly name = 'RecordRefused';
}

/**
 * Publishes the spool in order until it is empty or this producer is no longer the current one.
 * Frames are acknowledged group by group, and a group is sent when the last one is acknowledged:
 * whatever attempt a record arrives in, everything before it has arrived. Rejects with what went
 * wrong; the caller drops the producer and begins again with `spool.rewind()`.
 */
export async function drainSpool(options: DrainOptions): Promise<void> {
  const { spool } = options;
  let isCautious = options.isCautious;
  spool.rewind();
  while (options.isCurrent()) {
    const frames = await spool.read(isCautious ? 1 : GROUP_BYTES);
    if (!options.isCurrent()) return;
    if (frames.length > 0) {
      await publishGroup(frames, { ...options, isCautious });
      await spool.acknowledge(frames);
      isCautious = false;
      options.report('progressed');
    }
    if (spool.unreadBytes >= CAUGHT_UP_BYTES) continue;
    if (spool.isEmpty) {
      // Nothing may come between the look and the change of state: no await here.
      options.report('drained');
      await spool.clear();
      return;
    }
    options.report('caught_up');
    if (spool.unreadBytes === 0) await readable(spool);
  }
}

/**
 * Rejects with the first failure. Nothing is sent behind a record that the client did not take: it
 * would overtake it.
 */
async function publishGroup(frames: readonly SpooledFrame[], options: DrainOptions): Promise<void> {
  const acknowledged = new Promise<readonly SpooledFrame[]>((resolve, reject) => {
    const unusable: SpooledFrame[] = [];
    let left = frames.length;
    const settled = (error?: Error) => {
      if (error) reject(error);
      else if (--left === 0) resolve(unusable);
    };
    for (const frame of frames) {
      const record = decodePayload(frame.payload);
      if (!record) {
        unusable.push(frame);
        settled();
        continue;
      }
      const partitions = options.partitionsOf(record.topic);
      const partition = partitions === undefined ? record.partition : record.partition % partitions;
      options.producer.send({ ...record, partition }, settled);
    }
  });
  try {
    const unusable = await withDeadline(
      { ms: options.timeout, waitingFor: 'the acknowledgement of spooled records' },
      acknowledged,
    );
    for (const frame of unusable)
      await setAside(frame, 'it was written by another version', options);
  } catch (error) {
    if (!(error instanceof PublishFailed && error.kafkaCode === TOO_LARGE)) throw error;
    const [frame] = frames;
    if (!options.isCautious || !frame) throw new RecordRefused(error.message, { cause: error });
    await setAside(frame, error.message, options);
  }
}

async function setAside(frame: SpooledFrame, why: string, options: DrainOptions): Promise<void> {
  await options.spool.setAside(frame);
  options.onSetAside(frame, why);
}

/** Resolves when more can be read, or after a while. */
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
