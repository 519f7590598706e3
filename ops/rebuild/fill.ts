import { SeenKeys } from '../../pipeline/replay/seen-keys.ts';
import { LAST_INDEX } from '../../schemas/log-position.ts';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import { clickhouseEventsTable } from '../../projections/events/events-table.ts';
import { coalescingStore } from '../../projections/profiles/coalescing-store.ts';
import { clickhouseProfiles } from '../../projections/profiles/store.ts';
import { readRetentions, type Connections } from '../jobs/connections.ts';
import type { GracefulStop } from '../graceful-stop.ts';
import type { Job, OwnedJob } from '../jobs/job-ledger.ts';
import { processedUpTo } from '../replay/log-ranges.ts';
import { storedRows } from '../replay/stored-rows.ts';
import { catalogueTarget } from '../../projections/catalogue/rebuild.ts';
import { eventsTarget, type EventsTarget } from '../../projections/events/rebuild.ts';
import { identitiesTarget, type IdentitiesTarget } from '../../projections/identities/rebuild.ts';
import { readRows, type ReadRowsOptions } from './read-rows.ts';
import { profilesTarget } from '../../projections/profiles/rebuild.ts';
import { PROJECTION } from './projections.ts';
import { rebuildQuality } from './quality.ts';
import { dedupeStart } from './log-coverage.ts';
import type { RebuildLine, RebuildSource } from './request.ts';
import {
  RebuildImpossible,
  type OpenRange,
  type RebuildJournal,
  type RebuildProgress,
  type RebuildTarget,
} from '../../projections/rebuild-target.ts';
import { CommandError } from '../../cli/command.ts';
import { TOPIC } from '../../schemas/topology.ts';

export interface RebuildPlan {
  projection: string;
  source: RebuildSource;
}

export interface RebuildCounts {
  records: number;
  rows: number;
  /**
   * The shortest window of de-duplication where no verdict reached, when memory did not suffice for
   * the whole one, ms.
   */
  shortest_window: number | null;
  swapped_at: string | null;
  /**
   * UUID of the rebuilt table from before it was put in the place of the live one: tells a later
   * process whether that happened.
   */
  exchanging: string | null;
}

export type RebuildJob = Job<
  RebuildPlan,
  Record<string, RebuildProgress>,
  Record<string, OpenRange>,
  RebuildCounts
>;

export interface FillOptions {
  connections: Connections;
  line: RebuildLine;
  job: RebuildJob;
  owned: OwnedJob;
  gracefulStop: GracefulStop;
  progress: (state: { records: number; left: number; rows: number }) => void;
}

/** Keys that the pass remembers where no verdict of the pipeline reaches: some 32 bytes each. */
const MAX_SEEN_KEYS = 8_000_000;
const EVENTS_LIMITS = { rows: 50_000, bytes: 32 * 1024 * 1024 };
const PROFILES_LIMITS = { events: 20_000, cacheBytes: 384 * 1024 * 1024 };
/** So few records behind the live table, a rebuilt one has caught up. */
const CAUGHT_UP_RECORDS = 1000;
const MAX_ROUNDS = 20;

/**
 * Fills the table of a job from where it stands, round by round, until it is where the live one is.
 */
export class Fill {
  readonly #options: FillOptions;
  readonly #table: string;
  readonly #progress: Map<number, RebuildProgress>;
  readonly #open: Record<string, OpenRange>;
  readonly #counts: RebuildCounts;
  readonly #seen: SeenKeys;
  #hasRecalled = false;
  #target: RebuildTarget | undefined;

  constructor(options: FillOptions) {
    this.#options = options;
    this.#table = `${PROJECTION[options.line.projection].table}_${options.line.suffix}`;
    this.#progress = new Map(
      Object.entries(options.job.positions).map(([partition, one]) => [Number(partition), one]),
    );
    this.#stored = { ...options.job.positions };
    this.#open = { ...options.job.recorded };
    this.#counts = options.job.counts;
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

  /** How far the table goes. */
  get positions(): Readonly<Record<string, RebuildProgress>> {
    return Object.fromEntries(this.#progress);
  }

  get identities(): IdentitiesTarget | undefined {
    return this.#target && 'repairStore' in this.#target
      ? (this.#target as IdentitiesTarget)
      : undefined;
  }

  /**
   * Answers whether the table is where the live one is; `exactly`: the live part stands still, and
   * nothing may be left. Rejects as Halt says when somebody asks to stop; what was taken by then is
   * stored, if there is time to.
   */
  async catchUp(exactly: boolean): Promise<boolean> {
    const { gracefulStop, line } = this.#options;
    if (line.projection === 'quality') {
      await gracefulStop.run(this.#quality());
      return true;
    }
    await this.#recall();
    await gracefulStop.run(this.#closeOpen());
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const pass = await gracefulStop.run(this.#pass());
      const left = this.#left(pass);
      if (left === 0 || (!exactly && round > 0 && left < CAUGHT_UP_RECORDS)) return true;
      await this.#round(pass, left);
    }
    return false;
  }

  /**
   * Learns the keys that an earlier process of this job met, where no verdict of the pipeline
   * reaches: the same pass over the window before, and its rows go nowhere.
   */
  async #recall(): Promise<void> {
    const { connections, job, gracefulStop } = this.#options;
    const positions = new Map(this.#progress);
    if (this.#hasRecalled || job.plan.source !== 'raw' || positions.size === 0) return;
    const { settings, admin } = connections;
    const from = await gracefulStop.run(
      dedupeStart({
        settings,
        admin,
        window: settings.DEDUPE_TTL,
        positions,
        signal: gracefulStop.readSignal,
      }),
    );
    this.#hasRecalled = true;
    if (from.size === 0) return;
    const pass = await gracefulStop.run(this.#pass());
    for await (const batch of readRows({ ...pass, from, until: positions }))
      if (batch.records > 0) gracefulStop.progressed();
  }

  async #round(pass: ReadRowsOptions, expected: number): Promise<void> {
    const { gracefulStop, progress } = this.#options;
    const target = (this.#target ??= await gracefulStop.run(this.#createTarget()));
    let left = expected;
    try {
      for await (const batch of readRows(pass)) {
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

  #left({ from, until }: ReadRowsOptions): number {
    return [...until].reduce(
      (sum, [partition, { next }]) =>
        sum + Math.max(0, next - (from.get(partition)?.next ?? 0) - this.#reread(partition, next)),
      0,
    );
  }

  /** A record that is taken in part is read again, though nothing new may be in it. */
  #reread(partition: number, next: number): number {
    const at = this.#progress.get(partition);
    return at && at.next === next - 1 && at.place.offset === at.next && at.place.index < LAST_INDEX
      ? 1
      : 0;
  }

  async #pass(): Promise<ReadRowsOptions> {
    const { connections, job, gracefulStop } = this.#options;
    const { settings, admin, clickhouse: client } = connections;
    const signal = gracefulStop.readSignal;
    const { group } = PROJECTION[this.#options.line.projection];
    const places = await processedUpTo({ settings, admin, signal }, group);
    const { source } = job.plan;
    const until = new Map<number, { place: { offset: number; index: number }; next: number }>();
    if (source === 'raw')
      for (const [partition, place] of places)
        until.set(partition, { place, next: place.offset + 1 });
    else {
      const taken = await committedOffsets(admin, group, TOPIC.normalised);
      for (const { partition, low } of await topicEnds(admin, TOPIC.normalised))
        until.set(partition, {
          place: { offset: Number.MAX_SAFE_INTEGER, index: 0 },
          next: Math.max(low, taken.get(partition) ?? low),
        });
    }
    const live = storedRows({
      client,
      cluster: settings.CLICKHOUSE_CLUSTER,
      table: 'events',
      window: settings.DEDUPE_TTL,
    });
    return { connections, source, from: this.#progress, until, seen: this.#seen, live, signal };
  }

  /** What a killed process was writing is written again under the same tokens. */
  async #closeOpen(): Promise<void> {
    const open = Object.entries(this.#open);
    if (open.length === 0) return;
    const target = (this.#target ??= await this.#createTarget()) as EventsTarget;
    const pass = await this.#pass();
    for (const [name, rows] of open) {
      const partition = Number(name);
      const from = new Map([[partition, rows.from]]);
      const end =
        this.#options.job.plan.source === 'raw'
          ? { place: rows.until.place, next: rows.until.place.offset + 1 }
          : { place: { offset: Number.MAX_SAFE_INTEGER, index: 0 }, next: rows.until.next };
      await target.recover(
        partition,
        readRows({ ...pass, from, until: new Map([[partition, end]]) }),
      );
      this.#progress.set(partition, rows.until);
    }
  }

  async #createTarget(): Promise<RebuildTarget> {
    const { connections, line, job, owned, gracefulStop } = this.#options;
    const { clickhouse: client, database, settings, log } = connections;
    const retentions = await readRetentions(database);
    const [now, table, signal, cluster] = [
      Date.now(),
      this.#table,
      gracefulStop.writeSignal,
      settings.CLICKHOUSE_CLUSTER,
    ];
    const journal = this.#journal();
    switch (line.projection) {
      case 'events': {
        const eventsTable = clickhouseEventsTable({ client, cluster, table });
        const from = new Map(this.#progress);
        return eventsTarget({
          eventsTable,
          log,
          jobId: job.id,
          ownerEpoch: owned.epoch,
          confirm: () => owned.confirm(),
          journal,
          retentions,
          now,
          from,
          limits: EVENTS_LIMITS,
          signal,
        });
      }
      case 'profiles':
        return profilesTarget({
          store: coalescingStore(clickhouseProfiles({ client, cluster, table })),
          log,
          journal,
          limits: PROFILES_LIMITS,
          signal,
        });
      case 'catalogue':
        return catalogueTarget({ client, table, retentions, now });
      case 'identities':
        return identitiesTarget({ client, database, table });
      case 'quality':
        throw new Error('quality is not made of rows');
    }
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

  async #quality(): Promise<void> {
    const { connections, progress, gracefulStop } = this.#options;
    const { settings, admin, clickhouse: client, database } = connections;
    const retentions = await readRetentions(database);
    const shared = {
      settings,
      admin,
      client,
      table: this.#table,
      retentions,
      now: Date.now(),
      signal: gracefulStop.readSignal,
    };
    await rebuildQuality({
      ...shared,
      progress: (records) => {
        gracefulStop.progressed();
        this.#counts.records += records;
        progress({ records: this.#counts.records, left: 0, rows: this.#counts.records });
      },
    });
  }
}

/** A rebuild that cannot succeed ends with its reason, not with a stack trace. */
function refuseImpossible(error: unknown): never {
  throw error instanceof RebuildImpossible ? new CommandError(error.message) : error;
}
