import type { SeenKeys } from '../../pipeline/replay/seen-keys.ts';
import {
  LAST_INDEX,
  compareEventOffsets,
  eventOffsetKey,
  type EventOffset,
} from '../../schemas/log-position.ts';
import { decideRebuild } from '../../pipeline/replay/decide.ts';
import type { RebuildBatch, RebuildProgress } from '../../projections/rebuild-target.ts';
import type { EventRow } from '../../schemas/records.ts';
import type { Connections } from '../jobs/connections.ts';
import { sourceBatches, type SourceBatch } from '../replay/source.ts';
import type { StoredRows } from '../replay/stored-rows.ts';
import type { RebuildSource } from './request.ts';

export interface ReadRowsOptions {
  connections: Connections;
  source: RebuildSource;
  /** By partition: where it stands; moves with every batch. */
  from: Map<number, RebuildProgress>;
  /**
   * By partition: the last place that belongs to the pass, and the offset of the source behind it.
   */
  until: ReadonlyMap<number, { place: EventOffset; next: number }>;
  /**
   * Remembers keys where no verdict of the pipeline reaches; the same over all rounds of a rebuild.
   */
  seen: SeenKeys;
  /** The live table: a place that was dead counts when its row stands there. */
  live: StoredRows;
  /** Ends what is being read; the pass rejects then. */
  signal: AbortSignal;
}

const BATCH = 2000;

/**
 * One pass over the log, all partitions at once, the one that is furthest behind in time first:
 * nearly the order in which the pipeline saw the events.
 */
export async function* readRows(
  options: ReadRowsOptions,
): AsyncGenerator<RebuildBatch, void, void> {
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const readers = [...options.until].flatMap(([partition, until]) => {
    const progress = options.from.get(partition) ?? { next: 0, place: { offset: -1, index: -1 } };
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
        .sort((a, b) => (a.batch?.appendedAt ?? 0) - (b.batch?.appendedAt ?? 0));
      if (!first?.batch) return;
      first.reader.advance();
      const batch = await rowsOf(options, {
        batch: first.batch,
        isLearning: heads.some((head) => head?.events.some(({ verdictsKnown }) => !verdictsKnown)),
      });
      options.from.set(batch.partition, batch.progress);
      yield batch;
    }
  } finally {
    // Partitions that are read ahead must not be waited for.
    over.abort(new Error('the pass is over'));
    await Promise.all(readers.map((reader) => reader.close()));
  }
}

/** One partition, one batch ahead. */
class PartitionReader {
  readonly #batches: AsyncGenerator<SourceBatch, void, void>;
  #next: Promise<SourceBatch | undefined>;

  constructor(
    { connections, source, until, signal }: ReadRowsOptions,
    { partition, progress }: { partition: number; progress: RebuildProgress },
  ) {
    const topic = `events.${source}` as const;
    this.#batches = sourceBatches({
      connections,
      topic,
      partition,
      from: progress.next,
      to: until.get(partition)?.next ?? 0,
      maxEvents: BATCH,
      signal,
    });
    this.#next = this.#read();
  }

  head(): Promise<SourceBatch | undefined> {
    return this.#next;
  }

  advance(): void {
    this.#next = this.#read();
  }

  async close(): Promise<void> {
    await this.#next.catch(() => undefined);
    await this.#batches.return();
  }

  #read(): Promise<SourceBatch | undefined> {
    const next = this.#batches.next().then(({ value }) => value ?? undefined);
    // Whoever asks for the head hears of it; until then it must not end the process.
    next.catch(() => undefined);
    return next;
  }
}

/**
 * @param head `isLearning`: some partition is not yet where verdicts reach, and may hold repeats of
 * any key that comes by
 */
async function rowsOf(
  { source, from, until, seen, live }: ReadRowsOptions,
  head: { batch: SourceBatch; isLearning: boolean },
): Promise<RebuildBatch> {
  const { batch, isLearning } = head;
  const { partition } = batch;
  const end = until.get(partition) ?? { place: { offset: -1, index: -1 }, next: 0 };
  let place = from.get(partition)?.place ?? { offset: -1, index: -1 };
  const inside = batch.events.filter(({ at }) => {
    if (compareEventOffsets(at, place) <= 0 || compareEventOffsets(at, end.place) > 0) return false;
    // Records of events.normalised come again after a crash of the normaliser.
    if (source === 'normalised') place = at;
    return true;
  });
  const dead = inside.filter(({ verdict, row }) => verdict === 'dead' && row);
  const added = await live.byPosition(dead);
  const rows: EventRow[] = [];
  const revived = new Set<EventRow>();
  for (const event of inside) {
    const { row, verdict, verdictsKnown, claim, receivedAt, at } = event;
    const isAdded = verdict === 'dead' && added.has(eventOffsetKey(at));
    const isMet =
      row !== undefined && (isLearning || !verdictsKnown) && seen.isDuplicate(claim, receivedAt);
    const seenBefore = isMet && !verdictsKnown;
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
  batch: SourceBatch,
  {
    source,
    end,
    place,
  }: { source: RebuildSource; end: { place: EventOffset; next: number }; place: EventOffset },
): RebuildProgress {
  if (source === 'normalised') return { next: batch.last + 1, place };
  const behind = { offset: batch.last, index: LAST_INDEX };
  if (compareEventOffsets(behind, end.place) <= 0) return { next: batch.last + 1, place: behind };
  // The bound lies within the last record: it is read again, from behind the bound on.
  return { next: end.place.offset, place: end.place };
}
