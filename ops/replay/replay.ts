import { setTimeout as sleep } from 'node:timers/promises';
import type { Retentions } from '../../events/retention.ts';
import { clickhouseEventsTable } from '../../projections/events/events-table.ts';
import { unlessStopped, type GracefulStop } from '../graceful-stop.ts';
import { readRetentions, type Connections } from '../jobs/connections.ts';
import { OwnedJob, type Job } from '../jobs/job-ledger.ts';
import {
  addCounts,
  classifyBatch,
  emptyCounts,
  type ClassifiedBatch,
  type Difference,
  type ReplayCounts,
} from './classify.ts';
import type { PartitionRange } from './log-ranges.ts';
import type { ReplayRequest } from './request.ts';
import { sourceBatches, type SourceBatch } from './source.ts';
import { storedRows, storeRows } from './stored-rows.ts';
import { WaitingDeadLetters } from './waiting-dead-letters.ts';

/**
 * The range being written: whoever continues the replay writes it again, under the same tokens.
 * Stored as JSON in log_jobs, so the field names stay.
 */
export interface OpenRange {
  partition: number;
  first: number;
  last: number;
  /** Of an earlier release: rows that were dead and that it was adding. */
  dead?: readonly unknown[];
}

export type ReplayJob = Job<PartitionRange[], Record<string, number>, OpenRange, ReplayCounts>;

export interface ReplayOptions {
  connections: Connections;
  request: ReplayRequest;
  ranges: readonly PartitionRange[];
  /** undefined: a dry run, which writes nothing. */
  job: ReplayJob | undefined;
  /** Maximum events per second. */
  rate: number | undefined;
  gracefulStop: GracefulStop;
  /** Only completes the open range and starts no further one. */
  completeOnly?: boolean;
  progress: (counts: ReplayCounts, records: number) => void;
}

export interface ReplayResult {
  counts: ReplayCounts;
  differences: Difference[];
  /** Whether it was stopped before its end. */
  stopped: boolean;
}

const BATCH = 5000;
const MAX_DIFFERENCES = 20;
const MAX_SLEEP_MS = 10_000;
const RETENTIONS_MAX_AGE_MS = 30_000;

/**
 * Replays the ranges. When asked to stop, it resolves with what was done so far. Rejects with
 * JobLost when another process has taken the job over.
 */
export async function replay(options: ReplayOptions): Promise<ReplayResult> {
  const run = new ReplayRun(options);
  try {
    const done = await unlessStopped(options.gracefulStop, run.all());
    return { counts: run.counts, differences: run.differences, stopped: done === undefined };
  } finally {
    await run.close();
  }
}

class ReplayRun {
  readonly #options: ReplayOptions;
  readonly #table: string;
  readonly #owned: OwnedJob | undefined;
  readonly #waiting: WaitingDeadLetters;
  readonly differences: Difference[] = [];
  counts: ReplayCounts;
  #positions: Record<string, number>;
  #retentions: { at: number; byAccount: Retentions } | undefined;
  /** Time that the rate limit still requires, ms, as of `#debtAt`. */
  #debt = 0;
  #debtAt = performance.now();

  constructor(options: ReplayOptions) {
    const { connections, request, job } = options;
    this.#options = options;
    this.#table = request.into === undefined ? 'events' : `events_${request.into}`;
    this.#owned = job && new OwnedJob(connections.database, job);
    this.#waiting = new WaitingDeadLetters(connections, options.gracefulStop.readSignal);
    this.counts = job?.counts ?? emptyCounts();
    this.#positions = { ...job?.positions };
  }

  async close(): Promise<void> {
    this.#owned?.close();
    await this.#waiting.close();
  }

  async all(): Promise<true> {
    const { ranges, job, completeOnly } = this.#options;
    if (job?.recorded) {
      const { partition, first, last } = job.recorded;
      await this.#replayRange({ partition, from: first, to: last + 1 }, job.recorded);
    }
    if (completeOnly !== true)
      for (const range of ranges) await this.#replayRange(range, undefined);
    return true;
  }

  /** `open`: the range was recorded by an earlier process and is replayed as one batch. */
  async #replayRange(
    { partition, from, to }: PartitionRange,
    open: OpenRange | undefined,
  ): Promise<void> {
    const { connections, request, gracefulStop, rate } = this.#options;
    const batches = sourceBatches({
      connections,
      topic: request.topic,
      partition,
      from: open ? from : Math.max(from, this.#positions[partition] ?? from),
      to,
      maxEvents: open ? Number.POSITIVE_INFINITY : Math.max(1, Math.min(BATCH, rate ?? BATCH)),
      signal: gracefulStop.readSignal,
    });
    for await (const batch of batches) {
      const events = await gracefulStop.run(this.#processBatch(batch, open));
      gracefulStop.progressed();
      await this.#limitRate(events);
      gracefulStop.readSignal.throwIfAborted();
    }
    if (!open && !this.#owned) return;
    this.#positions[partition] = Math.max(this.#positions[partition] ?? 0, to);
  }

  /** Returns how many events of the batch match the request. */
  async #processBatch(batch: SourceBatch, open: OpenRange | undefined): Promise<number> {
    const { connections, request } = this.#options;
    const { clickhouse: client, settings, database } = connections;
    const stored = storedRows({
      client,
      cluster: settings.CLICKHOUSE_CLUSTER,
      table: this.#table,
      window: settings.DEDUPE_TTL,
    });
    if (this.#owned && open) await this.#endQueries(batch);
    const classified = await classifyBatch({
      batch,
      filter: request,
      stored,
      waiting: this.#waiting,
      retentions: await this.#currentRetentions(database),
      now: Date.now(),
    });
    this.differences.push(
      ...classified.differences.slice(0, MAX_DIFFERENCES - this.differences.length),
    );
    if (this.#owned) await this.#write(this.#owned, { batch, classified, open });
    this.counts = addCounts(this.counts, classified.counts);
    if (this.#owned) await this.#complete(this.#owned, batch);
    this.#options.progress(this.counts, batch.last - batch.first + 1);
    return classified.counts.events;
  }

  /** Retention may change during a replay of several hours: cached for a short time only. */
  async #currentRetentions(database: Connections['database']): Promise<Retentions> {
    const now = performance.now();
    if (!this.#retentions || now - this.#retentions.at > RETENTIONS_MAX_AGE_MS)
      this.#retentions = { at: now, byAccount: await readRetentions(database) };
    return this.#retentions.byAccount;
  }

  /**
   * Inserts of a killed process may still complete: they must end before the stored rows are read.
   */
  async #endQueries(batch: SourceBatch): Promise<void> {
    const eventsTable = clickhouseEventsTable({
      client: this.#options.connections.clickhouse,
      cluster: this.#options.connections.settings.CLICKHOUSE_CLUSTER,
    });
    await eventsTable.endQueries(`${this.#token(batch)}/`);
  }

  #token({ partition, first, last }: SourceBatch): string {
    return `replay-${this.#owned?.id ?? 0}-${partition}-${first}-${last}`;
  }

  async #write(
    owned: OwnedJob,
    write: { batch: SourceBatch; classified: ClassifiedBatch; open: OpenRange | undefined },
  ): Promise<void> {
    const { batch, classified, open } = write;
    if (classified.fresh.size === 0) return;
    const { partition: of, first, last } = batch;
    if (!open) await owned.update({ recorded: { partition: of, first, last } });
    const { clickhouse: client, settings, log } = this.#options.connections;
    const cluster = settings.CLICKHOUSE_CLUSTER;
    const eventsTable = clickhouseEventsTable({ client, cluster, table: this.#table });
    for (const [partition, events] of classified.fresh) {
      const { refused } = await storeRows(
        {
          eventsTable,
          log,
          signal: this.#options.gracefulStop.writeSignal,
          ownerEpoch: owned.epoch,
          confirm: () => owned.confirm(),
        },
        {
          token: `${this.#token(batch)}/${partition}`,
          partition,
          rows: events.flatMap(({ row }) => row ?? []),
        },
      );
      classified.counts.refused += refused;
    }
  }

  async #complete(owned: OwnedJob, batch: SourceBatch): Promise<void> {
    const position = this.#positions[batch.partition] ?? 0;
    this.#positions[batch.partition] = Math.max(position, batch.last + 1);
    await owned.update({ positions: this.#positions, recorded: null, counts: this.counts });
  }

  /** Sleeps as long as the rate limit requires. */
  async #limitRate(events: number): Promise<void> {
    const { rate, gracefulStop } = this.#options;
    if (rate === undefined) return;
    const now = performance.now();
    this.#debt = Math.max(0, this.#debt - (now - this.#debtAt)) + (events / rate) * 1000;
    this.#debtAt = now;
    const until = now + this.#debt;
    const signal = gracefulStop.readSignal;
    for (let left = this.#debt; left > 0 && !signal.aborted; left = until - performance.now()) {
      await sleep(Math.min(left, MAX_SLEEP_MS), undefined, { signal }).catch(() => undefined);
      // Waiting for the rate limit counts as progress.
      gracefulStop.progressed();
    }
  }
}
