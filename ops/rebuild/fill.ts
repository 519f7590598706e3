import { SeenKeys } from '../../pipeline/replay/seen-keys.ts';
import { LAST_INDEX } from '../../schemas/log-position.ts';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import type { Connections } from '../jobs/connections.ts';
import type { GracefulStop } from '../graceful-stop.ts';
import type { OwnedJob } from '../jobs/job-ledger.ts';
import { processedUpTo } from '../../platform/log/processed-up-to.ts';
import { storedRows } from '../replay/stored-rows.ts';
import type { EventsTarget } from '../../projections/events/rebuild.ts';
import type { IdentitiesTarget } from '../../projections/identities/rebuild.ts';
import { readRows, type ReadRowsOptions } from './read-rows.ts';
import { rowsFor, type RebuildRow } from './row-fields.ts';
import { PROJECTION } from './projections.ts';
import { readLayout } from '../../platform/log/layout.ts';
import { generationsOf } from './by-generation.ts';
import { createTarget } from './create-target.ts';
import { dedupeStart } from './log-coverage.ts';
import type { RebuildLine } from './request.ts';
import { rebuildMessagesTable, rebuildQualityTable } from './own-topic.ts';
import type { RebuildCounts, RebuildJob } from './rebuild-job.ts';
import {
  RebuildImpossible,
  type OpenRange,
  type RebuildJournal,
  type RebuildProgress,
  type RebuildTarget,
} from '../../projections/rebuild-target.ts';
import { CommandError } from '../../cli/command.ts';
import { TOPIC } from '../../schemas/topology.ts';

export interface FillOptions {
  connections: Connections;
  line: RebuildLine;
  job: RebuildJob;
  owned: OwnedJob;
  gracefulStop: GracefulStop;
  progress: (state: { records: number; left: number; rows: number }) => void;
}

/** Dedupe keys in memory where no verdicts are retained; about 32 bytes each. */
const MAX_SEEN_KEYS = 8_000_000;
/** With fewer records left, the rebuilt table has caught up. */
const CAUGHT_UP_RECORDS = 1000;
const MAX_ROUNDS = 20;

/**
 * Projections whose service brings a former table up to date by itself, from what the table or
 * PostgreSQL says.
 */
const FOLLOWS_BY_ITSELF: ReadonlySet<string> = new Set(['identities', 'catalogue']);

/** Fills the table of a job from its positions until it has caught up with the live table. */
export class Fill {
  readonly #options: FillOptions;
  readonly #table: string;
  readonly #progress: Map<number, RebuildProgress>;
  readonly #open: Record<string, OpenRange>;
  readonly #counts: RebuildCounts;
  readonly #seen: SeenKeys;
  #isWarm = false;
  #target: RebuildTarget<RebuildRow> | undefined;

  constructor(options: FillOptions) {
    this.#options = options;
    this.#table = `${PROJECTION[options.line.projection].table}_${options.line.suffix}`;
    this.#progress = new Map(
      Object.entries(options.job.positions).map(([partition, one]) => [Number(partition), one]),
    );
    this.#stored = { ...options.job.positions };
    this.#open = { ...options.job.recorded };
    this.#counts = { ...options.job.counts };
    this.#seen = new SeenKeys({
      window: options.connections.settings.DEDUPE_TTL,
      keys: MAX_SEEN_KEYS,
    });
  }

  readonly #stored: Record<string, RebuildProgress>;

  get counts(): RebuildCounts {
    return {
      ...this.#counts,
      shortest_window: this.#seen.shortestWindow ?? this.#counts.shortest_window,
    };
  }

  /** Deletes what the fill kept outside of the servers. */
  async close(): Promise<void> {
    await this.identities?.close();
  }

  /** Tables that are about to be exchanged, by UUID. */
  exchanges(tables: Pick<RebuildCounts, 'exchanging' | 'former'>): void {
    Object.assign(this.#counts, tables);
  }

  /** By partition: up to where the table is filled. */
  get positions(): Readonly<Record<string, RebuildProgress>> {
    return Object.fromEntries(this.#progress);
  }

  get identities(): IdentitiesTarget | undefined {
    return this.#target && 'repairStore' in this.#target
      ? (this.#target as IdentitiesTarget)
      : undefined;
  }

  /**
   * Fills the table until it has caught up with the live one. `exactly`: the live service is
   * stopped, and no record may be left. Resolves with false when records arrive faster. A stop
   * request rejects as described in GracefulStop, after storing what was processed if the grace
   * period allows.
   */
  async catchUp(exactly: boolean): Promise<boolean> {
    const { gracefulStop, line, job } = this.#options;
    if (job.plan.undoes !== undefined && FOLLOWS_BY_ITSELF.has(line.projection)) return true;
    if (PROJECTION[line.projection].isOfOwnTopic) {
      await gracefulStop.run(this.#rebuildOwnTopic());
      return true;
    }
    await this.#warmUpSeenKeys();
    await gracefulStop.run(this.#repeatOpenRanges());
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const options = await gracefulStop.run(this.#readOptions());
      const left = this.#left(options);
      if (left === 0 || (!exactly && round > 0 && left < CAUGHT_UP_RECORDS)) return true;
      await this.#round(options, left);
    }
    return false;
  }

  async #rebuildOwnTopic(): Promise<void> {
    const { connections, gracefulStop, line, owned, progress } = this.#options;
    const added = ({ records, rows }: { records: number; rows: number }) => {
      this.#counts.records += records;
      this.#counts.rows += rows;
      progress({ records: this.#counts.records, left: 0, rows: this.#counts.rows });
    };
    const rebuild = { connections, gracefulStop, table: this.#table, added };
    if (line.projection !== 'messages') return rebuildQualityTable(rebuild);
    await rebuildMessagesTable(rebuild, this.#progress);
    await owned.update({ positions: this.positions, counts: this.counts });
  }

  /**
   * Where no verdicts are retained, a resumed job must know the dedupe keys that its earlier
   * process saw: reads the window before its positions again and drops the rows.
   */
  async #warmUpSeenKeys(): Promise<void> {
    const { connections, job, gracefulStop } = this.#options;
    const positions = new Map(this.#progress);
    if (this.#isWarm || job.plan.source !== 'raw' || positions.size === 0) return;
    const { settings } = connections;
    const from = await gracefulStop.run(
      dedupeStart({
        connections,
        window: settings.DEDUPE_TTL,
        positions,
        signal: gracefulStop.readSignal,
      }),
    );
    this.#isWarm = true;
    if (from.size === 0) return;
    const options = await gracefulStop.run(this.#readOptions());
    for await (const batch of readRows({ ...options, from, until: positions }))
      if (batch.records > 0) gracefulStop.progressed();
  }

  async #round(options: ReadRowsOptions<RebuildRow>, expected: number): Promise<void> {
    const { gracefulStop, progress } = this.#options;
    const target = (this.#target ??= await gracefulStop.run(this.#openTarget()));
    let left = expected;
    try {
      for await (const batch of readRows(options)) {
        await gracefulStop.run(target.add(batch)).catch(refuseImpossible);
        gracefulStop.progressed();
        left = Math.max(0, left - batch.records);
        this.#counts.records += batch.records;
        this.#counts.rows += batch.rows.length;
        progress({ records: this.#counts.records, left, rows: this.#counts.rows });
      }
    } finally {
      await gracefulStop.run(target.flush());
    }
  }

  #left({ from, until, starts }: ReadRowsOptions<RebuildRow>): number {
    return [...until].reduce((sum, [partition, { next }]) => {
      const begin = from.get(partition)?.next ?? starts.get(partition) ?? 0;
      return sum + Math.max(0, next - begin - this.#rereadCount(partition, next));
    }, 0);
  }

  /** A partly processed record is read again, though it may hold nothing new. */
  #rereadCount(partition: number, next: number): number {
    const at = this.#progress.get(partition);
    return at && at.next === next - 1 && at.place.offset === at.next && at.place.index < LAST_INDEX
      ? 1
      : 0;
  }

  async #readOptions(): Promise<ReadRowsOptions<RebuildRow>> {
    const { connections, job, gracefulStop } = this.#options;
    const { settings, admin, clickhouse: client } = connections;
    const signal = gracefulStop.readSignal;
    const { group } = PROJECTION[this.#options.line.projection];
    const processed = await processedUpTo({ settings, admin, signal }, group);
    const { source } = job.plan;
    const until = new Map<number, { place: { offset: number; index: number }; next: number }>();
    if (source === 'raw')
      for (const [partition, place] of processed)
        until.set(partition, { place, next: place.offset + 1 });
    else {
      const committed = await committedOffsets(admin, group, TOPIC.normalised);
      for (const { partition, low } of await topicEnds(admin, TOPIC.normalised))
        until.set(partition, {
          place: { offset: Number.MAX_SAFE_INTEGER, index: 0 },
          next: Math.max(low, committed.get(partition) ?? low),
        });
    }
    const sourceEnds = await topicEnds(admin, `events.${source}`);
    const starts = new Map(sourceEnds.map(({ partition, low }) => [partition, low]));
    const live = storedRows({
      client,
      cluster: settings.CLICKHOUSE_CLUSTER,
      table: 'events',
      window: settings.DEDUPE_TTL,
    });
    const generationOf = generationsOf(await readLayout(connections.database));
    const [from, seen] = [this.#progress, this.#seen];
    const read = { source, rows: rowsFor(this.#options.line.projection) };
    return { connections, ...read, from, starts, until, seen, live, generationOf, signal };
  }

  /** Writes the recorded ranges of a killed process again, under the same tokens. */
  async #repeatOpenRanges(): Promise<void> {
    const open = Object.entries(this.#open);
    if (open.length === 0) return;
    const target = (this.#target ??= await this.#openTarget()) as unknown as EventsTarget;
    const options = await this.#readOptions();
    for (const [name, rows] of open) {
      const partition = Number(name);
      const from = new Map([[partition, rows.from]]);
      const end =
        this.#options.job.plan.source === 'raw'
          ? { place: rows.until.place, next: rows.until.place.offset + 1 }
          : { place: { offset: Number.MAX_SAFE_INTEGER, index: 0 }, next: rows.until.next };
      await target.recover(
        partition,
        readRows({ ...options, rows: undefined, from, until: new Map([[partition, end]]) }),
      );
      this.#progress.set(partition, rows.until);
    }
  }

  #openTarget(): Promise<RebuildTarget<RebuildRow>> {
    return createTarget({
      ...this.#options,
      table: this.#table,
      from: new Map(this.#progress),
      journal: this.#journal(),
    });
  }

  #journal(): RebuildJournal {
    const { owned, gracefulStop } = this.#options;
    return {
      begin: async (partition, rows) => {
        this.#open[partition] = rows;
        await owned.update({ recorded: this.#open });
      },
      stored: async (partition, progress) => {
        Reflect.deleteProperty(this.#open, partition);
        this.#stored[partition] = progress;
        gracefulStop.progressed();
        await owned.update({ positions: this.#stored, recorded: this.#open, counts: this.counts });
      },
    };
  }
}

/** Reports an impossible rebuild as one sentence instead of a stack trace. */
function refuseImpossible(error: unknown): never {
  throw error instanceof RebuildImpossible ? new CommandError(error.message) : error;
}
