import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { LookInterval } from '../../platform/look-interval.ts';
import { recordInstances, type InstancePorts } from './instances/record-instances.ts';
import type { PlannerMetrics } from './metrics.ts';
import type { LeasedRun } from './run.ts';
import type { RunStore } from './run-store.ts';
import { takeTurn, type TurnPorts } from './turn.ts';

export interface PlannerOptions {
  runs: RunStore;
  instances: InstancePorts;
  turns: Omit<TurnPorts, 'store' | 'log'>;
  metrics: PlannerMetrics;
  /** Measures the runs that wait. */
  measure: () => Promise<void>;
  log: Log;
  /** Audiences that are frozen at a time, and slices of runs that are written at a time. */
  concurrency: { freezes: number; slices: number };
  signal: AbortSignal;
}

/** Between two looks for work while there is none; after a minute without any, ms. */
const IDLE_MS = { busyMs: 1000, quietMs: 2000 };
const MEASURE_MS = 15_000;
/** Runs that one statement starts. */
const STARTED_AT_ONCE = 500;

/**
 * Plans runs until the signal aborts: makes runs of recurrences, starts what is due, and gives runs
 * their turns. Several processes may do so: a run belongs to the one that leased it last.
 */
export class Planner {
  readonly #options: PlannerOptions;
  readonly #turns = new Map<LeasedRun, Promise<void>>();
  /** Why nothing is planned; empty: it is. */
  #problem = 'waits for PostgreSQL (DATABASE_URL)';
  #measuredAt = Number.NEGATIVE_INFINITY;
  readonly #interval = new LookInterval({ ...IDLE_MS, now: () => performance.now() });
  /** Whether the last look found work. */
  #hasFound = false;
  /** Turns that have ended: one that ends during a round makes another round useful. */
  #ended = 0;

  constructor(options: PlannerOptions) {
    this.#options = options;
  }

  problems(): string[] {
    return this.#problem === '' ? [] : [this.#problem];
  }

  async run(): Promise<void> {
    const { signal, log } = this.#options;
    const isEnding = () => signal.aborted;
    let failures = 0;
    while (!isEnding()) {
      const endedBefore = this.#ended;
      let isMore = false;
      try {
        isMore = await this.#round();
        await this.#measure();
        this.#problem = '';
        failures = 0;
      } catch (error) {
        if (isEnding()) break;
        this.#problem = 'the runs of campaigns cannot be read from PostgreSQL (DATABASE_URL)';
        // The first failure, then one a minute.
        if (failures++ % 60 === 0)
          log.warn({ err: error, code: 'planner_store' }, `${this.#problem}; retrying`);
      }
      if (isMore || this.#ended !== endedBefore) continue;
      const hasFound = this.#hasFound || this.#turns.size > 0;
      const pause = delay(this.#interval.after({ hasFound }), signal).catch(() => undefined);
      await Promise.race([pause, ...this.#turns.values()]);
    }
    await Promise.all(this.#turns.values());
  }

  /** Starts what is due and gives turns; whether more is due. */
  async #round(): Promise<boolean> {
    const { runs, instances, metrics } = this.#options;
    let isMore = false;
    const work = await runs.look();
    if (work.instances) {
      const recorded = await recordInstances(instances);
      metrics.instancesRecorded(recorded);
      isMore = recorded.isMore;
    }
    this.#hasFound = work.instances || work.due || work.planning;
    if (this.#hasFound) {
      const started = await runs.startDue(STARTED_AT_ONCE);
      metrics.runsStarted(started);
      isMore ||= Object.values(started).some((count) => count >= STARTED_AT_ONCE);
      await this.#lease();
    }
    return isMore;
  }

  /** Begins turns until no slot is free or no run is ready. */
  async #lease(): Promise<void> {
    const { runs, concurrency, signal } = this.#options;
    while (!signal.aborted) {
      const freezing = [...this.#turns.keys()].filter(({ frozen }) => !frozen).length;
      const wanted = {
        freezes: freezing < concurrency.freezes,
        slices: this.#turns.size - freezing < concurrency.slices,
      };
      if (!wanted.freezes && !wanted.slices) return;
      const run = await runs.lease(wanted);
      if (!run) return;
      this.#begin(run);
    }
  }

  #begin(run: LeasedRun): void {
    const { runs: store, turns, metrics, log, signal } = this.#options;
    const turn = takeTurn(run, { ...turns, store, log }, signal)
      .then((outcome) => metrics.turnEnded(outcome))
      .finally(() => {
        this.#turns.delete(run);
        this.#ended++;
      });
    this.#turns.set(run, turn);
  }

  async #measure(): Promise<void> {
    const { measure } = this.#options;
    if (performance.now() - this.#measuredAt < MEASURE_MS) return;
    await measure();
    this.#measuredAt = performance.now();
  }
}
