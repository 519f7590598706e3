import type { SegmentWriter } from './segment-writer.ts';
import { frameHeadBytes } from './spooled-record.ts';
import type { LogRecord } from '../../ingest/log-record.ts';

/**
 * The spool or the account's share of it is full, it is closed, or its disk fails: the request is
 * answered 503.
 */
export class SpoolRefused extends Error {
  readonly code: 'spool_full' | 'spool_share' | 'spool_disk' | 'spool_closed';
  constructor(code: SpoolRefused['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SpoolRefused';
    this.code = code;
  }
}

export type Appended = (error: SpoolRefused | undefined) => void;

/**
 * Limits of an append. A new record is refused when too much waits for the disk or the spool is
 * full, of all accounts or of its own; one that was in flight to Kafka only when the spool is full,
 * for its memory is bounded already; one that moves from another queue never, for its bytes are
 * freed there.
 */
export type AppendLimits = 'memory_and_disk' | 'disk' | 'none';

interface Waiting {
  record: LogRecord;
  /** Of its frame. */
  bytes: number;
  done: Appended;
}

const MESSAGES = {
  spool_full: 'the spool is full: bring Kafka back, or raise SPOOL_MAX_BYTES',
  spool_share:
    "the account's share of the spool is full: bring Kafka back, or raise SPOOL_MAX_BYTES",
} as const;

/** One write and its fdatasync cover at most this, so that no record waits long. */
const GROUP_BYTES = 8 * 1024 * 1024;
/** Records of a group that takes longer than this are refused, ms. */
const DISK_DEADLINE = 10_000;

interface QueueOptions {
  writer: SegmentWriter;
  /** Why a frame of so many bytes may not be queued. */
  refusal: (
    frame: { accountId: number; bytes: number },
    limits: AppendLimits,
  ) => keyof typeof MESSAGES | undefined;
  /** Bytes of frames that are queued and, with a minus, of those that could not be written. */
  onQueued: (accountId: number, bytes: number) => void;
  /** Records that are on disk now. */
  onDurable: (records: readonly LogRecord[]) => void;
  onWritten: () => void;
  diskDeadline?: number;
}

/** Group commit: one fdatasync covers all records that were queued during the previous one. */
export class AppendQueue {
  readonly #options: QueueOptions;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #closed = false;
  /** Bytes of frames that are queued or being written. */
  bytes = 0;
  records = 0;
  readonly #byAccount = new Map<number, number>();
  /** The last disk error; undefined after a successful write. */
  problem: string | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  push(record: LogRecord, limits: AppendLimits, done: Appended): void {
    const bytes = frameHeadBytes(record) + record.value.length;
    if (this.#closed) return done(new SpoolRefused('spool_closed', 'the gateway is stopping'));
    const { accountId } = record;
    const refusal = this.#options.refusal({ accountId, bytes }, limits);
    if (refusal) return done(new SpoolRefused(refusal, MESSAGES[refusal]));
    this.bytes += bytes;
    this.records++;
    this.#byAccount.set(accountId, this.bytesOf(accountId) + bytes);
    this.#options.onQueued(accountId, bytes);
    this.#waiting.push({ record, bytes, done });
    this.#running ??= this.#run();
  }

  /** Bytes of an account's frames that are queued or being written. */
  bytesOf(accountId: number): number {
    return this.#byAccount.get(accountId) ?? 0;
  }

  /** Refuses new records and waits for those that are queued. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // Records appended in this turn of the event loop join the first group.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#writeGroup(this.#nextGroup());
    this.#running = undefined;
    this.#options.onWritten();
  }

  #nextGroup(): Waiting[] {
    let bytes = 0;
    const end = this.#waiting.findIndex(
      ({ record }, index) => (bytes += record.value.length) > GROUP_BYTES && index > 0,
    );
    return end === -1 ? this.#waiting.splice(0) : this.#waiting.splice(0, end);
  }

  async #writeGroup(group: Waiting[]): Promise<void> {
    let isOpen = true;
    const complete = (error: SpoolRefused | undefined) => {
      if (!isOpen) return;
      isOpen = false;
      for (const { done } of group) done(error);
    };
    const deadline = this.#options.diskDeadline ?? DISK_DEADLINE;
    const timer = setTimeout(() => {
      this.problem = `the disk took longer than ${deadline} ms`;
      complete(new SpoolRefused('spool_disk', this.problem));
    }, deadline);
    try {
      const records = group.map(({ record }) => record);
      await this.#options.writer.write(records);
      this.problem = undefined;
      this.#options.onDurable(records);
      this.#remove(group);
      this.#options.onWritten();
      complete(undefined);
    } catch (cause) {
      this.problem = cause instanceof Error ? cause.message : String(cause);
      this.#remove(group);
      for (const { record, bytes } of group) this.#options.onQueued(record.accountId, -bytes);
      complete(
        new SpoolRefused('spool_disk', `the spool cannot be written: ${this.problem}`, { cause }),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  #remove(group: Waiting[]): void {
    this.records -= group.length;
    for (const { record, bytes } of group) {
      this.bytes -= bytes;
      const own = this.bytesOf(record.accountId) - bytes;
      if (own > 0) this.#byAccount.set(record.accountId, own);
      else this.#byAccount.delete(record.accountId);
    }
  }
}
