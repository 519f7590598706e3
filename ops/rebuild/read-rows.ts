import type { SeenKeys } from '../../pipeline/replay/seen-keys.ts';
import {
  LAST_INDEX,
  compareEventOffsets,
  comparePartitionPositions,
  type EventOffset,
} from '../../schemas/log-position.ts';
import { decideRebuild } from '../../pipeline/replay/decide.ts';
import type { RebuildBatch, RebuildProgress } from '../../projections/rebuild-target.ts';
import type { EventRow } from '../../schemas/records.ts';
import type { Connections } from '../jobs/connections.ts';
import { sourceBatches, type RowsOf, type SourceBatch, type SourceRow } from '../replay/source.ts';
import { storedKey, type StoredRows } from '../replay/stored-rows.ts';
import { splitByGeneration } from './by-generation.ts';
import type { RebuildSource } from './request.ts';

export interface ReadRowsOptions<Row extends SourceRow = EventRow> {
  connections: Connections;
  source: RebuildSource;
  /** How much of a row is made; whole ones by default. */
  rows?: RowsOf<Row> | undefined;
  /** By partition: where to read on; updated with every batch. */
  from: Map<number, RebuildProgress>;
  /** By partition: the first retained offset, where one without progress begins. */
  starts: ReadonlyMap<number, number>;
  /** By partition: the last position to read, and the offset of the source after it. */
  until: ReadonlyMap<number, { place: EventOffset; next: number }>;
  /** Dedupe keys where no verdicts are retained; shared by all rounds of a rebuild. */
  seen: SeenKeys;
  /** The live table: a dead position counts when a replay has stored its row. */
  live: StoredRows;
  /** How many growths of the log come before an epoch. */
  generationOf: (epoch: number) => number;
  /** Ends the read, which then rejects. */
  signal: AbortSignal;
}

const BATCH = 500;

/**
 * Reads all partitions, one generation of the log after the other, oldest record first: nearly the
 * order of the pipeline.
 */
export async function* readRows<Row extends SourceRow = EventRow>(
  options: ReadRowsOptions<Row>,
): AsyncGenerator<RebuildBatch<Row | EventRow>, void, void> {
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const readers = [...options.until].flatMap(([partition, until]) => {
    const progress = options.from.get(partition) ?? {
      next: options.starts.get(partition) ?? 0,
      place: { offset: -1, index: -1 },
    };
    return until.next > progress.next
      ? [new PartitionReader({ ...options, signal }, { partition, progress })]
      : [];
  });
  try {
    for (;;) {
      const heads = await Promise.all(readers.map((reader) => reader.head()));
      const [first] = readers
        .map((reader, at) => ({ reader, batch: heads[at] }))
        .filter(({ batch }) => batch !== undefined)
        .sort(
          (a, b) =>
            a.reader.generation - b.reader.generation ||
            (a.batch?.appendedAt ?? 0) - (b.batch?.appendedAt ?? 0),
        );
      if (!first?.batch) return;
      const isLearning = readers.some((reader) => reader.isLearning);
      first.reader.advance();
      const batch = await rowsOf(options, { batch: first.batch, isLearning });
      options.from.set(batch.partition, batch.progress);
      yield batch;
    }
  } finally {
    // Do not wait for what is read ahead.
    over.abort(new Error('the read has ended'));
    await Promise.all(readers.map((reader) => reader.close()));
  }
}

/** Reads one partition, one batch ahead. */
class PartitionReader<Row extends SourceRow> {
  readonly #batches: AsyncGenerator<SourceBatch<Row | EventRow>, void, void>;
  readonly #split: (batch: SourceBatch<Row | EventRow>) => SourceBatch<Row | EventRow>[];
  readonly #generationOf: (epoch: number) => number;
  #parts: SourceBatch<Row | EventRow>[] = [];
  #next: Promise<SourceBatch<Row | EventRow> | undefined>;
  /** Of the head; a batch without events is in that of the one before. */
  generation = 0;
  /** Whether the head has events without verdicts. */
  isLearning = false;

  constructor(
    { connections, source, rows, until, generationOf, signal }: ReadRowsOptions<Row>,
    { partition, progress }: { partition: number; progress: RebuildProgress },
  ) {
    const topic = `events.${source}` as const;
    this.#generationOf = generationOf;
    this.#split = (batch) => splitByGeneration(batch, { source, generationOf });
    this.#batches = sourceBatches({
      connections,
      topic,
      partition,
      from: progress.next,
      to: until.get(partition)?.next ?? 0,
      maxEvents: BATCH,
      rows,
      signal,
    });
    this.#next = this.#read();
  }

  head(): Promise<SourceBatch<Row | EventRow> | undefined> {
    return this.#next;
  }

  advance(): void {
    this.#next = this.#read();
  }

  async close(): Promise<void> {
    await this.#next.catch(() => undefined);
    await this.#batches.return();
  }

  #read(): Promise<SourceBatch<Row | EventRow> | undefined> {
    const next = this.#nextPart();
    // head() rejects with it; without a caller yet, it must not end the process.
    next.catch(() => undefined);
    return next;
  }

  async #nextPart(): Promise<SourceBatch<Row | EventRow> | undefined> {
    if (this.#parts.length === 0) {
      const { value } = await this.#batches.next();
      if (value) this.#parts = this.#split(value);
    }
    const part = this.#parts.shift();
    const [head] = part?.events ?? [];
    if (head) this.generation = this.#generationOf(head.epoch);
    this.isLearning = part?.events.some(({ verdictsKnown }) => !verdictsKnown) ?? false;
    return part;
  }
}

/**
 * The rows of a batch. `isLearning`: some partition has no verdicts here and may hold duplicates of
 * any key, so the keys of all partitions are recorded.
 */
async function rowsOf<Row extends SourceRow>(
  { source, from, until, seen, live }: ReadRowsOptions<Row>,
  head: { batch: SourceBatch<Row | EventRow>; isLearning: boolean },
): Promise<RebuildBatch<Row | EventRow>> {
  const { batch, isLearning } = head;
  const { partition } = batch;
  const end = until.get(partition) ?? { place: { offset: -1, index: -1 }, next: 0 };
  let place: RebuildProgress['place'] = from.get(partition)?.place ?? { offset: -1, index: -1 };
  const inside = batch.events.filter(({ epoch, at }) => {
    if (source !== 'normalised')
      return compareEventOffsets(at, place) > 0 && compareEventOffsets(at, end.place) <= 0;
    // The normaliser may publish records twice after a crash, and offsets begin again lower after
    // the log went back.
    const before = { ...place, epoch: place.epoch ?? 0 };
    if (comparePartitionPositions({ epoch, ...at }, before) <= 0) return false;
    place = { epoch, ...at };
    return true;
  });
  const dead = inside.filter(({ verdict, row }) => verdict === 'dead' && row);
  const added = await live.byPosition(dead);
  const rows: (Row | EventRow)[] = [];
  const revived = new Set<Row | EventRow>();
  for (const event of inside) {
    const { row, verdict, verdictsKnown, receivedAt, epoch, at } = event;
    const isAdded = verdict === 'dead' && added.has(storedKey({ epoch, at }));
    const isKnownKey =
      row !== undefined &&
      (isLearning || !verdictsKnown) &&
      seen.isDuplicate(event.claim, receivedAt);
    const seenBefore = isKnownKey && !verdictsKnown;
    if (
      !row ||
      decideRebuild({ verdict, seenBefore, addedByReplay: isAdded, processable: true }) !== 'row'
    )
      continue;
    rows.push(row);
    if (isAdded) revived.add(row);
  }
  return {
    partition,
    rows,
    revived,
    progress: progressAfter(batch, { source, end, place }),
    records: batch.last - batch.first + 1,
  };
}

function progressAfter(
  batch: Pick<SourceBatch, 'last'>,
  {
    source,
    end,
    place,
  }: {
    source: RebuildSource;
    end: { place: EventOffset; next: number };
    place: RebuildProgress['place'];
  },
): RebuildProgress {
  if (source === 'normalised') return { next: batch.last + 1, place };
  const behind = { offset: batch.last, index: LAST_INDEX };
  if (compareEventOffsets(behind, end.place) <= 0) return { next: batch.last + 1, place: behind };
  // The bound is within the last record: it is read again from the bound on.
  return { next: end.place.offset, place: end.place };
}
