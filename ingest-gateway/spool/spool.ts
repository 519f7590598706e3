import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppendQueue, type Appended } from './append-queue.ts';
import { SpooledEvents } from './spooled-events.ts';
import { Quarantine } from './quarantine.ts';
import { ReadCursor, type SpooledFrame } from './read-cursor.ts';
import { recoverSegments } from './recover.ts';
import { SegmentWriter } from './segment-writer.ts';
import { removeFile, type Segment } from './segment.ts';
import { lockSpool } from './spool-lock.ts';
import type { LogRecord } from '../../ingest/log-record.ts';

export interface SpoolOptions {
  folder: string;
  /** Bytes of all segments and of what waits to be written. */
  maxBytes: number;
  segmentBytes?: number;
  diskDeadline?: number;
}

/** Bytes in memory that wait to be written, even if maxBytes is larger. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;

/**
 * The gateway's disk buffer: an append-only queue of records for Kafka in segment files. A record
 * is durable when `append` calls back without error. One process per folder; `openSpool` recovers
 * what an earlier process left.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #quarantine: Quarantine;
  readonly #cursor = new ReadCursor();
  readonly #writer: SegmentWriter;
  readonly #queue: AppendQueue;
  readonly #unlock: () => void;
  /** Torn segment tails found at the start. */
  readonly torn: number;
  /** Accepted events in the spool. */
  readonly events: SpooledEvents;
  /** Called whenever more frames can be read. */
  onReadable: () => void = () => undefined;

  constructor(
    options: SpoolOptions,
    recovered: {
      quarantine: Quarantine;
      events: SpooledEvents;
      segments: Segment[];
      nextNumber: number;
      torn: number;
      unlock: () => void;
    },
  ) {
    this.#options = options;
    this.#quarantine = recovered.quarantine;
    this.#unlock = recovered.unlock;
    this.torn = recovered.torn;
    this.events = recovered.events;
    for (const segment of recovered.segments) this.#cursor.add(segment);
    const { folder, maxBytes } = options;
    const segmentBytes =
      options.segmentBytes ??
      Math.max(64 * 1024, Math.min(8 * 1024 * 1024, Math.floor(maxBytes / 8)));
    this.#writer = new SegmentWriter({
      folder,
      nextNumber: recovered.nextNumber,
      segmentBytes,
      onSegment: (segment) => this.#cursor.add(segment),
    });
    this.#queue = new AppendQueue({
      writer: this.#writer,
      hasRoom: (bytes) =>
        this.#queue.bytes + bytes <= MAX_QUEUED_BYTES && this.bytes + bytes <= maxBytes,
      onDurable: (records) => this.events.add(records),
      onWritten: () => this.onReadable(),
      ...(options.diskDeadline === undefined ? {} : { diskDeadline: options.diskDeadline }),
    });
  }

  /** Bytes of segments and of records that wait to be written. */
  get bytes(): number {
    return (
      this.#cursor.segments.reduce((sum, { segment }) => sum + segment.size, 0) + this.#queue.bytes
    );
  }

  get maxBytes(): number {
    return this.#options.maxBytes;
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

  get segments(): number {
    return this.#cursor.segments.length;
  }

  get quarantine(): { found: number; bytes: number } {
    return this.#quarantine;
  }

  /** Why records cannot be appended at the moment; undefined when they can. */
  get problem(): string | undefined {
    if (this.#queue.problem !== undefined)
      return `the spool cannot be written: ${this.#queue.problem}`;
    return this.bytes >= this.maxBytes
      ? `the spool is full (${this.bytes} of ${this.maxBytes} bytes)`
      : undefined;
  }

  /** True when every record is in Kafka and none waits to be written. */
  get isEmpty(): boolean {
    return (
      this.#queue.records === 0 &&
      this.#cursor.isAtEnd &&
      this.#cursor.segments.every(({ outstanding }) => outstanding === 0)
    );
  }

  /** Durable bytes that are unread. */
  get unreadBytes(): number {
    return this.#cursor.unreadBytes;
  }

  /** Queues a record. `done` is called once: when it is on disk, or with the reason it is not. */
  append(record: LogRecord, done: Appended): void {
    this.#queue.push(record, done);
  }

  /**
   * The next unread frames, about `maxBytes`; empty when everything durable was read. Damaged bytes
   * between them go into quarantine. Rejects on a disk error.
   */
  async read(maxBytes: number): Promise<SpooledFrame[]> {
    const { frames, damage } = await this.#cursor.read(maxBytes);
    for (const { segment, start, bytes } of damage)
      await this.#quarantine.keep({ name: `${basename(segment.path)}-${start}.damaged`, bytes });
    return frames;
  }

  /** These frames, all of one `read`, are in Kafka. Removes segments that are finished. */
  async acknowledge(frames: readonly SpooledFrame[]): Promise<void> {
    this.#cursor.acknowledge(frames);
    this.events.removeFrames(frames);
    await this.#removeFinished();
  }

  /** Frames that were read and not acknowledged are read again. */
  rewind(): void {
    this.#cursor.rewind();
  }

  /** Quarantines a frame that Kafka will always refuse. The caller acknowledges it. */
  async quarantineFrame(frame: SpooledFrame): Promise<void> {
    await this.#quarantine.keep({
      name: `${basename(frame.segment.path)}-${frame.start}.refused`,
      bytes: frame.payload,
    });
  }

  /** Removes the files if everything is in Kafka. */
  async clear(): Promise<void> {
    if (!this.isEmpty) return;
    await this.#writer.seal();
    await this.#removeFinished();
  }

  /** Writes what is queued and unlocks the folder. The next start recovers its records. */
  async close(): Promise<void> {
    await this.#queue.close();
    await this.#writer.seal();
    if (this.isEmpty) await this.#removeFinished();
    await this.#cursor.close();
    this.#unlock();
  }

  async #removeFinished(): Promise<void> {
    for (const segment of this.#cursor.removeFinished(this.#writer.active))
      await removeFile(segment.path);
  }
}

/**
 * Opens the spool of a folder, which it creates if needed: locks it and recovers its segments.
 * Rejects with SpoolLocked, or when the disk fails.
 */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  await mkdir(options.folder, { recursive: true });
  const unlock = await lockSpool(options.folder);
  try {
    const quarantine = new Quarantine(join(options.folder, 'quarantine'));
    await quarantine.open();
    const events = new SpooledEvents();
    const recovered = await recoverSegments({ folder: options.folder, quarantine, events });
    return new Spool(options, { quarantine, events, unlock, ...recovered });
  } catch (error) {
    unlock();
    throw error;
  }
}
