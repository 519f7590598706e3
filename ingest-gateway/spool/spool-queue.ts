import { basename } from 'node:path';
import type { LogRecord } from '../../ingest/log-record.ts';
import { isWithinShare } from './account-share.ts';
import { AppendQueue, type Appended, type AppendLimits } from './append-queue.ts';
import { refusedName, type Quarantine } from './quarantine.ts';
import { ReadCursor, type Damage, type SpooledFrame } from './read-cursor.ts';
import { damagedName, type Recovered } from './recover.ts';
import { SegmentWriter } from './segment-writer.ts';
import { removeFile } from './segment.ts';
import type { SpooledEvents } from './spooled-events.ts';

export interface QueueOptions {
  folder: string;
  isFolderNew: boolean;
  segmentBytes: number;
  diskDeadline: number | undefined;
  /** Bytes of new records in memory that wait to be written. */
  maxQueuedBytes: number;
  /** True when the disk's share has room for so many bytes. */
  hasDiskRoom: (bytes: number) => boolean;
  /** True when the account's share of it has. */
  isWithinDiskShare: (accountId: number, bytes: number) => boolean;
  onShareRefused: () => void;
  quarantine: Quarantine;
  events: SpooledEvents;
  recovered: Recovered;
}

/** Reads a queue in order. Once another reader has begun, it reads nothing. */
export interface SpoolReader {
  /**
   * The next unread frames, about `maxBytes`; empty when everything durable was read. Damaged bytes
   * between them go into quarantine. Rejects on a disk error, or with QuarantineFailed.
   */
  read: (maxBytes: number) => Promise<SpooledFrame[]>;
  /** Frames of one `read`, from its first, are in Kafka. Removes segments that are finished. */
  acknowledge: (frames: readonly SpooledFrame[]) => Promise<void>;
}

/** An append-only queue of records for Kafka, in the segment files of one folder. */
export class SpoolQueue {
  readonly #options: QueueOptions;
  readonly #cursor = new ReadCursor();
  readonly #writer: SegmentWriter;
  readonly #queue: AppendQueue;
  /** Accepted events in the queue. */
  readonly events: SpooledEvents;
  /** Called whenever more frames can be read. */
  onReadable: () => void = () => undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    const { recovered, events, diskDeadline } = options;
    this.events = events;
    for (const segment of recovered.segments) this.#cursor.add(segment);
    this.#writer = new SegmentWriter({
      folder: options.folder,
      isFolderNew: options.isFolderNew,
      nextNumber: recovered.nextNumber,
      segmentBytes: options.segmentBytes,
      onSegment: (segment) => this.#cursor.add(segment),
    });
    this.#queue = new AppendQueue({
      writer: this.#writer,
      refusal: (frame, limits) => this.#refusal(frame, limits),
      onQueued: (accountId, bytes) => events.addBytes(accountId, bytes),
      onDurable: (records) => events.add(records),
      onWritten: () => this.onReadable(),
      ...(diskDeadline === undefined ? {} : { diskDeadline }),
    });
  }

  /** Bytes of segments and of records that wait to be written. */
  get bytes(): number {
    return (
      this.#cursor.segments.reduce((sum, { segment }) => sum + segment.size, 0) + this.#queue.bytes
    );
  }

  /** Records that are not in Kafka yet. */
  get records(): number {
    return (
      this.#cursor.segments.reduce(
        (sum, { segment, acknowledgedFrames }) => sum + segment.records - acknowledgedFrames,
        0,
      ) + this.#queue.records
    );
  }

  /** The last disk error; undefined after a successful write. */
  get problem(): string | undefined {
    return this.#queue.problem;
  }

  /** True when every record is in Kafka and none waits to be written. */
  get isEmpty(): boolean {
    return this.#queue.records === 0 && this.#cursor.isFinished;
  }

  /** Durable bytes that are unread. */
  get unreadBytes(): number {
    return this.#cursor.unreadBytes;
  }

  /** Queues a record. `done` is called once: when it is on disk, or with the reason it is not. */
  append(record: LogRecord, done: Appended, limits: AppendLimits = 'memory_and_disk'): void {
    this.#queue.push(record, limits, done);
  }

  /** Starts to read after the last acknowledged frame; ends the reader before it. */
  startReading(): SpoolReader {
    const reader = this.#cursor.begin();
    const keep = async ({ segment, start, end, bytes }: Damage) =>
      this.#options.quarantine.keep({ name: damagedName(segment, { start, end }), bytes });
    return {
      read: (maxBytes) => this.#cursor.read(reader, { maxBytes, keep }),
      acknowledge: async (frames) => {
        if (!this.#cursor.acknowledge(reader, frames)) return;
        this.events.removeFrames(frames);
        await this.#removeFinished();
      },
    };
  }

  /** Keeps a frame that Kafka refuses. The caller acknowledges it. Rejects: QuarantineFailed. */
  async setAside({ segment, start, payload }: SpooledFrame): Promise<void> {
    const name = refusedName(basename(segment.path), start);
    await this.#options.quarantine.keep({ name, bytes: payload });
  }

  /** Removes the files if everything is in Kafka. */
  async clear(): Promise<void> {
    if (!this.isEmpty) return;
    await this.#writer.seal();
    await this.#removeFinished();
  }

  /** Writes what is queued. The next start recovers its records. */
  async close(): Promise<void> {
    await this.#queue.close();
    await this.#writer.seal();
    if (this.isEmpty) await this.#removeFinished();
    await this.#cursor.close();
  }

  #refusal(
    { accountId, bytes }: { accountId: number; bytes: number },
    limits: AppendLimits,
  ): 'spool_full' | 'spool_share' | undefined {
    if (limits === 'none') return undefined;
    const { hasDiskRoom, isWithinDiskShare, onShareRefused, maxQueuedBytes: max } = this.#options;
    if (!hasDiskRoom(bytes)) return 'spool_full';
    if (limits === 'disk') return undefined;
    const used = this.#queue.bytes;
    if (used + bytes > max) return 'spool_full';
    const own = this.#queue.bytesOf(accountId);
    if (isWithinShare(bytes, { own, used, max }) && isWithinDiskShare(accountId, bytes))
      return undefined;
    onShareRefused();
    return 'spool_share';
  }

  async #removeFinished(): Promise<void> {
    for (const segment of this.#cursor.removeFinished()) await removeFile(segment.path);
  }
}
