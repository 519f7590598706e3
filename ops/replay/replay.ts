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
import { insertAffectedPersons } from './refold.ts';
import type { ReplayRequest } from './request.ts';
import { deadCountsOf, moveDeadToStored, SideEffects, type DeadMinute } from './side-effects.ts';
import {
  markRedriven,
  readSinkDeadLetters,
  withDeadLetter,
  type SinkDeadLetters,
} from './sink-dead-letters.ts';
import { sourceBatches, type SourceBatch, type SourceEvent } from './source.ts';
import { storedKey, storedRows, storeRows, type StoredRows } from './stored-rows.ts';

/**
 * The range being written: whoever continues the replay writes it again, under the same tokens.
 * Stored as JSON in log_jobs, so the field names stay.
 */
export interface OpenRange {
  partition: number;
  first: number;
  last: number;
  /** Rows that the reconciliation counts as dead until the range is complete. */
  dead: DeadMinute[];
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
    run.close();
  }
}

class ReplayRun {
  readonly #options: ReplayOptions;
  readonly #table: string;
  readonly #owned: OwnedJob | undefined;
  readonly #sideEffects: SideEffects;
  readonly differences: Difference[] = [];
  counts: ReplayCounts;
  #positions: Record<string, number>;
  #dead: DeadMinute[] = [];
  #deadLetters: Promise<SinkDeadLetters> | undefined;
  #retentions: { at: number; byAccount: Retentions } | undefined;
  /** Time that the rate limit still requires, ms, as of `#debtAt`. */
  #debt = 0;
  #debtAt = performance.now();

  constructor(options: ReplayOptions) {
    const { connections, request, job } = options;
    this.#options = options;
    this.#table = request.into === undefined ? 'events' : `events_${request.into}`;
    this.#owned = job && new OwnedJob(connections.database, job);
    this.#sideEffects = new SideEffects(connections, options.gracefulStop.readSignal);
    this.counts = job?.counts ?? emptyCounts();
    this.#positions = { ...job?.positions };
  }

  close(): void {
    this.#owned?.close();
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
      retentions: await this.#currentRetentions(database),
      now: Date.now(),
    });
    this.differences.push(
      ...classified.differences.slice(0, MAX_DIFFERENCES - this.differences.length),
    );
    if (this.#owned) await this.#write(this.#owned, { batch, classified, open });
    if (this.#owned && this.#table === 'events')
      await this.#markStoredDeadLetters(stored, [
        ...[...classified.fresh.values()].flat(),
        ...classified.alreadyStored,
      ]);
    this.counts = addCounts(this.counts, classified.counts);
    if (this.#owned) await this.#complete(this.#owned, batch, open?.dead ?? this.#dead);
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

  /** Rows that ClickHouse refused count as dead in the reconciliation until they are stored. */
  async #markStoredDeadLetters(stored: StoredRows, events: readonly SourceEvent[]): Promise<void> {
    if (events.length === 0) return;
    const { connections, gracefulStop } = this.#options;
    // The range ends where the sink has processed everything: no dead letter of it comes later.
    const found = withDeadLetter(
      await (this.#deadLetters ??= readSinkDeadLetters(connections, gracefulStop.readSignal)),
      events,
    );
    for (const own of Map.groupBy(found, ({ event }) => event.partition).values()) {
      const rows = await stored.byPosition(own.map(({ event }) => event));
      await markRedriven(
        connections.database,
        own.filter(({ event }) => rows.has(storedKey(event))),
      );
    }
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
    const isLive = this.#table === 'events';
    const fresh = [...classified.fresh.values()].flat();
    // An earlier process may have stored rows of an open range without their side effects.
    const affected = open ? [...fresh, ...classified.alreadyStored] : fresh;
    this.#dead = [];
    if (affected.length === 0) return;
    const revived = isLive ? await this.#sideEffects.revivedEvents(affected) : [];
    if (!open) {
      this.#dead = deadCountsOf(revived);
      const persons = isLive ? await this.#sideEffects.affectedPersons(affected, revived) : [];
      const { partition, first, last } = batch;
      const range: OpenRange = { partition, first, last, dead: this.#dead };
      await owned.update(
        { recorded: range },
        persons.length === 0 ? undefined : insertAffectedPersons(owned.id, persons),
      );
    }
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
    if (!isLive) return;
    await this.#sideEffects.applyAliases(affected);
    await this.#sideEffects.countInCatalogue(revived);
  }

  /** Completes the range; in the same statement its dead rows become stored ones. */
  async #complete(owned: OwnedJob, batch: SourceBatch, dead: readonly DeadMinute[]): Promise<void> {
    const position = this.#positions[batch.partition] ?? 0;
    this.#positions[batch.partition] = Math.max(position, batch.last + 1);
    const change = { positions: this.#positions, recorded: null, counts: this.counts };
    await owned.update(change, dead.length === 0 ? undefined : moveDeadToStored(dead));
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
