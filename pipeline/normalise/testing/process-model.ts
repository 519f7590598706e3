import type { ClaimToResolve } from '../../../events/claims/resolution.ts';
import type { ResolvedClaims } from '../../../platform/claims/claim-store.ts';
import { ClaimsGate } from '../claims-gate.ts';
import { NAMES } from '../config.ts';
import { NormaliserTask, type NormaliserDeps } from '../partition-task.ts';
import { Publisher } from '../publisher.ts';
import { rowTools } from '../row-tools.ts';
import { Semaphore } from '../semaphore.ts';
import type { ClusterModel, Instance } from './cluster-model.ts';

/** One process of the group, running the real normaliser task. */
export class ProcessModel implements Instance {
  readonly name: string;
  readonly #cluster: ClusterModel;
  readonly #deps: NormaliserDeps;
  readonly #gate: ClaimsGate;
  readonly #fences = new Map<number, AbortController>();
  readonly #batch: number;
  #marker = -1;
  isAlive = true;

  constructor(cluster: ClusterModel, options: { name: string; batch: number }) {
    this.#cluster = cluster;
    this.name = options.name;
    this.#batch = options.batch;
    const gate = new ClaimsGate({
      load: async () => {
        this.#marker = await cluster.waitForLoad(this);
      },
      failed: () => undefined,
    });
    this.#gate = gate;
    this.#deps = {
      gate,
      claims: {
        resolve: (claims) => this.#resolve(claims),
        held: (ids) =>
          new Promise((resolve) => cluster.later(this, () => resolve(cluster.held(ids)))),
        stored: (asked) =>
          new Promise((resolve) => {
            const claims = asked.map(({ claim }) => claim);
            cluster.later(this, () => resolve(cluster.storedRows(claims)));
          }),
      },
      lastPublished: (partition) =>
        new Promise((resolve) =>
          cluster.later(this, () => resolve(cluster.lastPublished(partition))),
        ),
      semaphore: new Semaphore(2),
      publisher: new Publisher(
        { send: (record, done) => cluster.send(this, record, () => done(undefined, 0)) },
        100_000,
      ),
      ...rowTools({ limits: { rows: 2, bytes: 100_000, rowBytes: 100_000 }, userAgents: 10 }),
      names: NAMES,
      deadLetterPartitions: 1,
      judgeChunk: () => ({ verdict: 'pass', state: { processed: 0, dead: 0 } }),
      retryAfter: 0,
      now: () => 0,
      published: () => undefined,
      retryUnconfirmed: 0,
      unconfirmed: () => undefined,
      heldBack: () => undefined,
    };
    gate.start();
  }

  kill(): void {
    this.isAlive = false;
    this.#cluster.kill(this);
  }

  /** Reads the ends in one step and records them in a later one. */
  sweep(): void {
    if (!this.#cluster.isLoadedAs(this.#marker)) this.#gate.claimsLost();
    const ends = this.#cluster.normalisedEnds();
    const marker = this.#marker;
    this.#cluster.later(this, () => this.#cluster.recordEnds(marker, ends));
    this.#cluster.pack(this, marker);
  }

  fence(partition: number): void {
    this.#fences.get(partition)?.abort(new Error('fenced'));
  }

  start(partition: number): void {
    const fence = new AbortController();
    this.#fences.set(partition, fence);
    const stopping = new AbortController().signal;
    const committed = this.#cluster.committed.get(partition);
    const released = () => undefined;
    const task = new NormaliserTask({
      partition,
      committed,
      deps: this.#deps,
      fenced: fence.signal,
      stopping,
      released,
    });
    void this.#loop({ partition, task, next: committed ?? 0, fenced: fence.signal });
  }

  async #loop({
    partition,
    task,
    next,
    fenced,
  }: {
    partition: number;
    task: NormaliserTask;
    next: number;
    fenced: AbortSignal;
  }): Promise<void> {
    const log = this.#cluster.raw[partition] ?? [];
    for (let from = next; from < log.length && !fenced.aborted;) {
      const offset = await task.process(log.slice(from, from + this.#batch));
      if (offset === undefined) return;
      from = offset;
      this.#cluster.later(this, () => {
        if (!fenced.aborted)
          this.#cluster.committed.set(
            partition,
            Math.max(offset, this.#cluster.committed.get(partition) ?? 0),
          );
      });
    }
  }

  /** Takes effect in Redis in one step and is answered in another. */
  #resolve(claims: readonly ClaimToResolve[]): Promise<ResolvedClaims> {
    return new Promise((resolve) => {
      this.#cluster.later(this, () => {
        const resolved = this.#cluster.resolve(this.#marker, claims);
        this.#cluster.later(this, () => resolve(resolved));
      });
    });
  }
}
