import type { Log } from '../../platform/log.ts';
import { AvroWriter } from '../../schemas/avro-writer.ts';
import type { EventRow } from '../../schemas/records.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import { RowEncoder } from '../../schemas/row-encoder.ts';
import type { EncodedDatum } from '../../schemas/row-reader.ts';
import type {
  RebuildBatch,
  RebuildJournal,
  RebuildProgress,
  RebuildTarget,
} from '../rebuild-target.ts';
import { splitRows } from './decode.ts';
import type { EventsTable } from './events-table.ts';
import { storeOnce } from './store-once.ts';

/** A whole row, or the datum of one with what decides whether it is kept. */
export type RebuiltRow = Pick<EventRow, 'account_id' | 'timestamp' | 'received_at'> &
  (EventRow | { encoded: EncodedDatum });

interface EventsTargetOptions {
  eventsTable: EventsTable;
  log: Log;
  jobId: number;
  ownerEpoch: number;
  confirm: () => Promise<void>;
  journal: RebuildJournal;
  /** Whether the table holds a row: retention has not deleted it. */
  isKept: (row: RebuiltRow) => boolean;
  from: ReadonlyMap<number, RebuildProgress>;
  /** Rows and bytes of one insert. */
  limits: { rows: number; bytes: number };
  signal: AbortSignal;
}

/** Buffer of rows that stay where they were encoded. */
const WRITER_BYTES = 512 * 1024;
/** Enough for nearly every row; a buffer that is too small for one grows, and is copied. */
const ROOM_BYTES = 32 * 1024;

/** The writer, or the next one when the buffer of this one is filled. */
export function writerWithRoom(writer?: AvroWriter): AvroWriter {
  const isFull = writer === undefined || writer.end > WRITER_BYTES - ROOM_BYTES;
  return isFull ? new AvroWriter(WRITER_BYTES) : writer;
}

/** An insert of one partition: encoded rows and the range they come from. */
interface EncodedRange {
  from: RebuildProgress;
  until: RebuildProgress;
  count: number;
  datums: readonly Buffer[];
  /** A former process may have inserted it already. */
  repeat: boolean;
}

/** Rows not yet in the shadow table; inserts run one at a time under range tokens. */
class PartitionRows {
  readonly #options: EventsTargetOptions;
  readonly #partition: number;
  readonly #encoder = new RowEncoder();
  #writer = writerWithRoom();
  /** The rows of the next insert, where they were encoded: nothing is copied. */
  #rows: Omit<EncodedDatum, 'version'>[] = [];
  #bytes = 0;
  #count = 0;
  #from: RebuildProgress;
  #until: RebuildProgress;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: EventsTargetOptions, partition: number) {
    this.#options = options;
    this.#partition = partition;
    this.#from = this.#until = options.from.get(partition) ?? {
      next: 0,
      place: { offset: -1, index: -1 },
    };
  }

  async add(batch: RebuildBatch<RebuiltRow>): Promise<void> {
    const { limits } = this.#options;
    this.#encode(batch);
    if (this.#count >= limits.rows || this.#bytes >= limits.bytes)
      await this.#send({ repeat: false });
  }

  async flush(): Promise<void> {
    await this.#send({ repeat: false });
    await this.#sending;
  }

  /** Repeats the open range of a former process in one insert. */
  async recover(batches: AsyncIterable<RebuildBatch<RebuiltRow>>): Promise<void> {
    for await (const batch of batches) this.#encode(batch);
    await this.#send({ repeat: true });
    await this.#sending;
  }

  #encode({ rows, progress }: RebuildBatch<RebuiltRow>): void {
    const { isKept } = this.#options;
    for (const row of rows) {
      if (!isKept(row)) continue;
      this.#add('encoded' in row ? row.encoded : this.#encoded(row));
    }
    this.#until = progress;
  }

  #encoded(row: EventRow): Omit<EncodedDatum, 'version'> {
    this.#writer = writerWithRoom(this.#writer);
    const from = this.#writer.end;
    this.#encoder.encode(row, this.#writer, NEWEST_ROW_VERSION);
    return { bytes: this.#writer.buffer, from, to: this.#writer.end };
  }

  #add({ bytes, from, to }: Omit<EncodedDatum, 'version'>): void {
    const last = this.#rows.at(-1);
    if (last?.bytes === bytes && last.to === from) last.to = to;
    else this.#rows.push({ bytes, from, to });
    this.#bytes += to - from;
    this.#count++;
  }

  /** Waits for the previous insert, then starts the next one without waiting for it. */
  async #send({ repeat }: { repeat: boolean }): Promise<void> {
    await this.#sending;
    const [from, until, count] = [this.#from, this.#until, this.#count];
    const datums = this.#rows.map((rows) => rows.bytes.subarray(rows.from, rows.to));
    this.#rows = [];
    this.#bytes = this.#count = 0;
    this.#from = until;
    if (from === until) return;
    this.#sending = this.#store({ from, until, count, datums, repeat });
    this.#sending.catch(() => undefined);
  }

  async #store({ from, until, count, datums, repeat }: EncodedRange): Promise<void> {
    const { eventsTable, log, jobId, ownerEpoch, confirm, journal, signal } = this.#options;
    const [partition, version] = [this.#partition, NEWEST_ROW_VERSION];
    if (count > 0) {
      if (!repeat) await journal.begin(partition, { from, until });
      const textOf = ({ place: { epoch = 0, offset, index } }: RebuildProgress) =>
        `${epoch === 0 ? '' : `e${epoch}.`}${offset}.${index}`;
      const token = `rebuild-${jobId}-${partition}-${textOf(from)}-${textOf(until)}`;
      const { refused } = await storeOnce(
        { eventsTable, log, signal, ownerEpoch, confirm, onRecover: () => undefined },
        {
          ...{ version, token, partition, count, datums },
          rows: () => splitRows({ version, count, rows: Buffer.concat(datums) }) ?? [],
        },
        repeat,
      );
      if (refused.length > 0)
        log.error(
          { code: 'rows_refused', partition, rows: refused.length },
          'ClickHouse refused rows of the rebuilt table',
        );
    }
    await journal.stored(partition, until);
  }
}

export interface EventsTarget extends RebuildTarget<RebuiltRow> {
  /** Repeats a range that a former process recorded and may have inserted. */
  recover(partition: number, batches: AsyncIterable<RebuildBatch<RebuiltRow>>): Promise<void>;
}

/** Fills a table like `events`, each row once, whatever process is killed. */
export function eventsTarget(options: EventsTargetOptions): EventsTarget {
  const partitions = new Map<number, PartitionRows>();
  const of = (partition: number) => {
    let found = partitions.get(partition);
    if (!found) partitions.set(partition, (found = new PartitionRows(options, partition)));
    return found;
  };
  return {
    add: (batch) => of(batch.partition).add(batch),
    async flush() {
      await Promise.all([...partitions.values()].map((rows) => rows.flush()));
    },
    recover: (partition, batches) => of(partition).recover(batches),
  };
}
