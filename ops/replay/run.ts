import { setTimeout as sleep } from 'node:timers/promises';
import type { Retentions } from '../../events/retention.ts';
import { eventOffsetKey } from '../../schemas/log-position.ts';
import { recordAudit } from '../../platform/audit.ts';
import { clickhouseEventsTable } from '../../projections/events/events-table.ts';
import { escapeText } from '../../platform/postgres/escaped-text.ts';
import { readRetentions, type Connections } from './connections.ts';
import { addCounts, noCounts, type Difference, type ReplayCounts } from './counts.ts';
import { deadMinutes, FollowUps, type ConcernedName, type DeadMinute } from './follow-ups.ts';
import { unlessStopped, type GracefulStop } from '../graceful-stop.ts';
import type { Job } from './job-ledger.ts';
import { OwnedJob } from './job-ledger.ts';
import { judge, type Judged } from './judge.ts';
import type { Span } from './log-spans.ts';
import type { ReplayRequest } from './request.ts';
import {
  readSinkLetters,
  settleLetters,
  withLetter,
  type SinkLetters,
} from './sink-dead-letters.ts';
import { sourceBatches, type SourceBatch, type SourceEvent } from './source.ts';
import { storedRows, type StoredRows } from './stored-rows.ts';
import { addRows } from './write-rows.ts';

/** The open range of a replay: it is written again, under the same tokens, by whoever continues. */
export interface OpenRange {
  partition: number;
  first: number;
  last: number;
  /** Rows that the books hold for dead until the range is closed. */
  dead: DeadMinute[];
}

export type ReplayJob = Job<Span[], Record<string, number>, OpenRange, ReplayCounts>;

export interface ReplayOptions {
  connections: Connections;
  request: ReplayRequest;
  spans: readonly Span[];
  /** undefined: a dry run, which writes nothing. */
  job: ReplayJob | undefined;
  /** Most events a second. */
  rate: number | undefined;
  halt: GracefulStop;
  /** Only the open range is closed, and nothing is begun. */
  closeOnly?: boolean;
  progress: (counts: ReplayCounts, records: number) => void;
}

export interface ReplayResult {
  counts: ReplayCounts;
  differences: Difference[];
  /** Whether it was stopped before its end. */
  stopped: boolean;
}

const BATCH = 5000;
const MOST_DIFFERENCES = 20;
/** ms */
const PACE_MS = 10_000;
/** ms */
const RETENTIONS_FOR = 30_000;

/**
 * Works through the spans; asked to stop, it answers with what it has done. Rejects with JobLost
 * when another process has taken the job over.
 */
export async function replay(options: ReplayOptions): Promise<ReplayResult> {
  const run = new Run(options);
  try {
    const done = await unlessStopped(options.halt, run.all());
    return { counts: run.counts, differences: run.differences, stopped: done === undefined };
  } finally {
    run.close();
  }
}

class Run {
  readonly #options: ReplayOptions;
  readonly #table: string;
  readonly #owned: OwnedJob | undefined;
  readonly #followUps: FollowUps;
  readonly differences: Difference[] = [];
  counts: ReplayCounts;
  #positions: Record<string, number>;
  #debt = 0;
  #paidAt = performance.now();

  constructor(options: ReplayOptions) {
    const { connections, request, job } = options;
    this.#options = options;
    this.#table = request.into === undefined ? 'events' : `events_${request.into}`;
    this.#owned = job && new OwnedJob(connections.database, job);
    this.#followUps = new FollowUps(connections, options.halt.readSignal);
    this.counts = job?.counts ?? noCounts();
    this.#positions = { ...job?.positions };
  }

  close(): void {
    this.#owned?.close();
  }

  async all(): Promise<true> {
    const { spans, job, closeOnly } = this.#options;
    if (job?.recorded)
      await this.#span(
        { partition: job.recorded.partition, from: job.recorded.first, to: job.recorded.last + 1 },
        job.recorded,
      );
    if (closeOnly !== true) for (const span of spans) await this.#span(span, undefined);
    return true;
  }

  /** `open`: the span is a range that was recorded before, and is taken as one batch again. */
  async #span(span: Span, open: OpenRange | undefined): Promise<void> {
    const { connections, request, halt, rate } = this.#options;
    const from = open
      ? span.from
      : Math.max(span.from, this.#positions[span.partition] ?? span.from);
    const most = open ? Number.POSITIVE_INFINITY : Math.max(1, Math.min(BATCH, rate ?? BATCH));
    const range = { partition: span.partition, from, to: span.to, most, signal: halt.readSignal };
    for await (const batch of sourceBatches({ connections, topic: request.topic, ...range })) {
      const events = await halt.run(this.#take(batch, open));
      halt.progressed();
      await this.#pace(events);
      halt.readSignal.throwIfAborted();
    }
    if (!open && !this.#owned) return;
    this.#positions[span.partition] = Math.max(this.#positions[span.partition] ?? 0, span.to);
  }

  /** Answers how many events of the batch were asked for. */
  async #take(batch: SourceBatch, open: OpenRange | undefined): Promise<number> {
    const { connections, request } = this.#options;
    const { clickhouse: client, settings, database } = connections;
    const stored = storedRows({
      client,
      cluster: settings.CLICKHOUSE_CLUSTER,
      table: this.#table,
      window: settings.DEDUPE_TTL,
    });
    if (this.#owned && open) await this.#endQueries(batch);
    const judged = await judge({
      batch,
      filter: request,
      stored,
      retentions: await this.#kept(database),
      now: Date.now(),
    });
    this.differences.push(
      ...judged.differences.slice(0, MOST_DIFFERENCES - this.differences.length),
    );
    if (this.#owned) await this.#write(this.#owned, { batch, judged, open });
    if (this.#owned && this.#table === 'events')
      await this.#settleLetters(stored, [...[...judged.fresh.values()].flat(), ...judged.standing]);
    this.counts = addCounts(this.counts, judged.counts);
    if (this.#owned) await this.#finish(this.#owned, batch, open?.dead ?? this.#dead);
    this.#options.progress(this.counts, batch.last - batch.first + 1);
    return judged.counts.events;
  }

  #dead: DeadMinute[] = [];
  #letters: Promise<SinkLetters> | undefined;
  #retentions: { at: number; found: Retentions } | undefined;

  /** How long accounts keep their events, asked again now and then: a replay may run for hours. */
  async #kept(database: Connections['database']): Promise<Retentions> {
    const now = performance.now();
    if (!this.#retentions || now - this.#retentions.at > RETENTIONS_FOR)
      this.#retentions = { at: now, found: await readRetentions(database) };
    return this.#retentions.found;
  }

  /** Rows that ClickHouse refused once are dead in the books, until they are stored. */
  async #settleLetters(stored: StoredRows, events: readonly SourceEvent[]): Promise<void> {
    if (events.length === 0) return;
    const { connections, halt } = this.#options;
    // The range ends where the sink has taken everything: no letter of it comes later.
    const found = withLetter(
      await (this.#letters ??= readSinkLetters(connections, halt.readSignal)),
      events,
    );
    for (const own of Map.groupBy(found, ({ event }) => event.partition).values()) {
      const there = await stored.at(own.map(({ event }) => event));
      await settleLetters(
        connections.database,
        own.filter(({ event }) => there.has(eventOffsetKey(event.at))),
      );
    }
  }

  /**
   * Rows that a killed process sent may be about to appear: they must be there before it is looked
   * what is stored.
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
    { batch, judged, open }: { batch: SourceBatch; judged: Judged; open: OpenRange | undefined },
  ): Promise<void> {
    const isLive = this.#table === 'events';
    const fresh = [...judged.fresh.values()].flat();
    // Of a range that was open before, rows may be there whose consequences are not.
    const concerned = open ? [...fresh, ...judged.standing] : fresh;
    this.#dead = [];
    if (concerned.length === 0) return;
    const revived = isLive ? await this.#followUps.revived(concerned) : [];
    if (!open) {
      this.#dead = deadMinutes(revived);
      const names = isLive ? await this.#followUps.names(concerned, revived) : [];
      const range: OpenRange = {
        partition: batch.partition,
        first: batch.first,
        last: batch.last,
        dead: this.#dead,
      };
      await owned.update(
        { recorded: range },
        names.length === 0 ? undefined : insertNames(owned.id, names),
      );
    }
    const { connections } = this.#options;
    const eventsTable = clickhouseEventsTable({
      client: connections.clickhouse,
      cluster: connections.settings.CLICKHOUSE_CLUSTER,
      table: this.#table,
    });
    for (const [partition, events] of judged.fresh) {
      const rows = events.flatMap(({ row }) => row ?? []);
      const write = {
        eventsTable,
        log: connections.log,
        signal: this.#options.halt.writeSignal,
        ownerEpoch: owned.epoch,
        confirm: () => owned.confirm(),
      };
      const { refused } = await addRows(write, {
        token: `${this.#token(batch)}/${partition}`,
        partition,
        rows,
      });
      judged.counts.refused += refused;
    }
    if (!isLive) return;
    await this.#followUps.aliases(concerned);
    await this.#followUps.catalogue(revived);
  }

  /** Closes the range; what was dead counts as stored from the same moment on. */
  async #finish(owned: OwnedJob, batch: SourceBatch, dead: readonly DeadMinute[]): Promise<void> {
    this.#positions[batch.partition] = Math.max(
      this.#positions[batch.partition] ?? 0,
      batch.last + 1,
    );
    const change = { positions: this.#positions, recorded: null, counts: this.counts };
    await owned.update(change, dead.length === 0 ? undefined : moveDead(dead));
  }

  /** Sleeps as long as the rate asks for. */
  async #pace(events: number): Promise<void> {
    const { rate, halt } = this.#options;
    if (rate === undefined) return;
    const now = performance.now();
    this.#debt = Math.max(0, this.#debt - (now - this.#paidAt)) + (events / rate) * 1000;
    this.#paidAt = now;
    const until = now + this.#debt;
    for (
      let left = this.#debt;
      left > 0 && !halt.readSignal.aborted;
      left = until - performance.now()
    ) {
      await sleep(Math.min(left, PACE_MS), undefined, { signal: halt.readSignal }).catch(
        () => undefined,
      );
      // Waiting for its own rate is no silence.
      halt.progressed();
    }
  }
}

function insertNames(
  jobId: number,
  names: readonly ConcernedName[],
): { sql: string; values: unknown[] } {
  return {
    sql: `INSERT INTO replay_names (job_id, account_id, name, partition)
      SELECT $6::bigint, wanted.* FROM owner, unnest($7::bigint[], $8::text[], $9::int[]) AS wanted (account_id, name, partition) ON CONFLICT DO NOTHING`,
    values: [
      jobId,
      names.map(({ accountId }) => accountId),
      names.map(({ name }) => escapeText(name)),
      names.map(({ partition }) => partition),
    ],
  };
}

/**
 * `stored` is what was found when a minute was last compared; an open minute is counted again
 * anyway.
 */
function moveDead(dead: readonly DeadMinute[]): { sql: string; values: unknown[] } {
  return {
    sql: `UPDATE books SET dead = dead - moved.n, stored = stored + moved.n, changed_at = clock_timestamp()
      FROM owner, unnest($6::bigint[], $7::timestamptz[], $8::bigint[]) AS moved (account_id, minute, n)
      WHERE books.account_id = moved.account_id AND books.minute = moved.minute`,
    values: [
      dead.map(({ account }) => account),
      dead.map(({ minute }) => new Date(minute)),
      dead.map(({ rows }) => rows),
    ],
  };
}

/** Writes the audit line of a replay's begin or end. */
export async function auditReplay(
  connections: Connections,
  action: string,
  job: Pick<ReplayJob, 'id' | 'command'>,
  request: ReplayRequest,
  counts?: ReplayCounts,
): Promise<void> {
  const details = { job: job.id, command: job.command, ...(counts ? { counts } : {}) };
  await recordAudit(connections.database, {
    accountId: request.account ?? null,
    actor: 'operator',
    action,
    details,
  });
}
