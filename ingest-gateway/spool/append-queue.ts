import type { SegmentWriter } from './segment-writer.ts';
import { frameHeadBytes } from './spooled-record.ts';
import type { LogRecord } from '../../ingest/log-record.ts';

/**
 * The spool does not take a record: it has no room, or the disk fails. The record may only be
 * answered 503.
 */
export class SpoolRefused extends Error {
  readonly code: 'spool_full' | 'spool_disk' | 'spool_closed';
  constructor(code: SpoolRefused['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SpoolRefused';
    this.code = code;
  }
}

export type Appended = (error: SpoolRefused | undefined) => void;

interface Waiting {
  record: LogRecord;
  done: Appended;
}

/** One write and its fdatasync serve at most these bytes, so that none waits long. */
const GROUP_BYTES = 8 * 1024 * 1024;
/** A disk that takes longer than this for one group counts as failed for those who wait. */
const DISK_DEADLINE = 10_000;

interface QueueOptions {
  writer: SegmentWriter;
  /** Bytes that may still be queued, for a frame of this size. */
  hasRoom: (bytes: number) => boolean;
  /** Records that are on disk now. */
  onDurable: (records: readonly LogRecord[]) => void;
  onWritten: () => void;
  diskDeadline?: number;
}

/**
 * Group commit: while one group is being synced the next one gathers, and one fdatasync answers all
 * of it.
 */
export class AppendQueue {
  readonly #options: QueueOptions;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #closed = false;
  /** Bytes of frames that are queued or being written. */
  bytes = 0;
  records = 0;
  /** What the disk said last; undefined after a group that was written. */
  problem: string | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  push(record: LogRecord, done: Appended): void {
    const bytes = frameHeadBytes(record) + record.value.length;
    if (this.#closed) return done(new SpoolRefused('spool_closed', 'the gateway is stopping'));
    if (!this.#options.hasRoom(bytes))
      return done(
        new SpoolRefused(
          'spool_full',
          'the spool is full: bring Kafka back, or raise SPOOL_MAX_BYTES',
        ),
      );
    this.bytes += bytes;
    this.records++;
    this.#waiting.push({ record, done });
    this.#running ??= this.#run();
  }

  /** Waits for everything queued; nothing is taken any more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // What else is appended in this turn of the event loop joins the first group.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#writeGroup(this.#takeGroup());
    this.#running = undefined;
    this.#options.onWritten();
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    const end = this.#waiting.findIndex(
      ({ record }, index) => (bytes += record.value.length) > GROUP_BYTES && index > 0,
    );
    return end === -1 ? this.#waiting.splice(0) : this.#waiting.splice(0, end);
  }

  async #writeGroup(group: Waiting[]): Promise<void> {
    let open = true;
    const settle = (error: SpoolRefused | undefined) => {
      if (!open) return;
      open = false;
      for (const { done } of group) done(error);
    };
    const deadline = this.#options.diskDeadline ?? DISK_DEADLINE;
    const timer = setTimeout(() => {
      this.problem = `the disk took longer than ${deadline} ms`;
      settle(new SpoolRefused('spool_disk', this.problem));
    }, deadline);
    try {
      const records = group.map(({ record }) => record);
      await this.#options.writer.write(records);
      this.problem = undefined;
      this.#options.onDurable(records);
      this.#leave(group);
      this.#options.onWritten();
      settle(undefined);
    } catch (cause) {
      this.problem = cause instanceof Error ? cause.message : String(cause);
      this.#leave(group);
      settle(
        new SpoolRefused('spool_disk', `the spool cannot be written: ${this.problem}`, { cause }),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  #leave(group: Waiting[]): void {
    this.records -= group.length;
    for (const { record } of group) this.bytes -= frameHeadBytes(record) + record.value.length;
  }
}
