import { keptFrom, type Retentions } from '../../pipeline/replay/kept-until.ts';
import { AvroWriter } from '../../pipeline/normalise/avro-writer.ts';
import { RowEncoder } from '../../pipeline/normalise/row-encoder.ts';
import type { Log } from '../../platform/log.ts';
import { splitRows } from '../../projections/events/rows.ts';
import type { Warehouse } from '../../projections/events/warehouse.ts';
import { storeOnce } from '../../projections/events/write.ts';
import type { Progress, RowBatch } from './pass.ts';
import type { JobNotes, Target } from './target.ts';

interface EventsTargetOptions {
  warehouse: Warehouse;
  log: Log;
  jobId: number;
  ownerEpoch: number;
  confirm: () => Promise<void>;
  notes: JobNotes;
  retentions: Retentions;
  /** ms since the epoch */
  now: number;
  from: ReadonlyMap<number, Progress>;
  /** Rows and bytes of one insert. */
  limits: { rows: number; bytes: number };
  signal: AbortSignal;
}

/**
 * Rows of one partition on their way into a table like `events`, encoded: each insert under the
 * token of its range, one at a time a partition.
 */
class PartitionRows {
  readonly #options: EventsTargetOptions;
  readonly #partition: number;
  readonly #writer = new AvroWriter(1024 * 1024);
  readonly #encoder = new RowEncoder();
  #count = 0;
  #from: Progress;
  #until: Progress;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: EventsTargetOptions, partition: number) {
    this.#options = options;
    this.#partition = partition;
    this.#from = this.#until = options.from.get(partition) ?? {
      next: 0,
      place: { offset: -1, index: -1 },
    };
  }

  async take({ rows, progress }: RowBatch): Promise<void> {
    const { retentions, now, limits } = this.#options;
    for (const row of rows) {
      if (row.timestamp < keptFrom(retentions, row.account_id, now)) continue;
      this.#encoder.encode(row, this.#writer);
      this.#count++;
    }
    this.#until = progress;
    if (this.#count >= limits.rows || this.#writer.end >= limits.bytes)
      await this.#send({ repeat: false });
  }

  async flush(): Promise<void> {
    await this.#send({ repeat: false });
    await this.#sending;
  }

  /** Takes the open range of a former process as a whole: its rows may be stored already. */
  async repeat(batches: AsyncIterable<RowBatch>): Promise<void> {
    for await (const { rows, progress } of batches) {
      for (const row of rows) {
        if (row.timestamp < keptFrom(this.#options.retentions, row.account_id, this.#options.now))
          continue;
        this.#encoder.encode(row, this.#writer);
        this.#count++;
      }
      this.#until = progress;
    }
    await this.#send({ repeat: true });
    await this.#sending;
  }

  /** Waits for the insert before, then lets the next one run by itself. */
  async #send({ repeat }: { repeat: boolean }): Promise<void> {
    await this.#sending;
    const [from, until, count] = [this.#from, this.#until, this.#count];
    const datums = Buffer.from(this.#writer.bytes(0, this.#writer.end));
    this.#writer.reset(2 * this.#options.limits.bytes);
    this.#count = 0;
    this.#from = until;
    if (from === until) return;
    this.#sending = this.#store({ from, until, count, datums, repeat });
    this.#sending.catch(() => undefined);
  }

  async #store(batch: {
    from: Progress;
    until: Progress;
    count: number;
    datums: Buffer;
    repeat: boolean;
  }): Promise<void> {
    const { warehouse, log, jobId, ownerEpoch, confirm, notes, signal } = this.#options;
    const { from, until, count, datums, repeat } = batch;
    if (count > 0) {
      if (!repeat) await notes.begin(this.#partition, { from, until });
      const at = ({ place }: Progress) => `${place.offset}.${place.index}`;
      const token = `rebuild-${jobId}-${this.#partition}-${at(from)}-${at(until)}`;
      const rows = () => splitRows(datums, count) ?? [];
      const { refused } = await storeOnce(
        { warehouse, log, signal, ownerEpoch, confirm, onSettle: () => undefined },
        { token, partition: this.#partition, count, datums: [datums], rows },
        repeat,
      );
      if (refused.length > 0)
        log.error(
          { code: 'rows_refused', partition: this.#partition, rows: refused.length },
          'ClickHouse does not take some rows',
        );
    }
    await notes.stored(this.#partition, until);
  }
}

export interface EventsTarget extends Target {
  repeat(partition: number, batches: AsyncIterable<RowBatch>): Promise<void>;
}

/** Fills a table like `events`, every row once, whatever is killed meanwhile. */
export function eventsTarget(options: EventsTargetOptions): EventsTarget {
  const partitions = new Map<number, PartitionRows>();
  const of = (partition: number) => {
    let found = partitions.get(partition);
    if (!found) partitions.set(partition, (found = new PartitionRows(options, partition)));
    return found;
  };
  return {
    take: (batch) => of(batch.partition).take(batch),
    async flush() {
      await Promise.all([...partitions.values()].map((rows) => rows.flush()));
    },
    repeat: (partition, batches) => of(partition).repeat(batches),
  };
}
