import { setImmediate as turn } from 'node:timers/promises';
import type { ClaimId } from '../../../events/claims/claim-id.ts';
import { samePosition } from '../../../events/claims/position-bytes.ts';
import type { ClaimToResolve, ClaimResolution } from '../../../events/claims/resolution.ts';
import { ContextReader } from '../../../events/normalise.ts';
import { UserAgentCache } from '../../../events/user-agent.ts';
import type { ResolvedClaims } from '../../../platform/claims/claim-store.ts';
import type { ConsumedMessage } from '../../../platform/kafka/consumer-types.ts';
import type { OutgoingRecord } from '../../../platform/kafka/producer.ts';
import { rowBatchCodec } from '../../../schemas/codec.ts';
import type { LogPosition } from '../../../schemas/log-position.ts';
import type { EventRow } from '../../../schemas/records.ts';
import { claimsToResolve } from '../../../events/raw/record-claims.ts';
import { NAMES } from '../config.ts';
import { ClaimsGate } from '../claims-gate.ts';
import { Publisher } from '../publisher.ts';
import { NormaliserTask, type NormaliserDeps } from '../partition-task.ts';
import { decodeRecord } from '../../../events/raw/decode-record.ts';
import { RowBatchBuilder } from '../row-batch-builder.ts';
import { Semaphore } from '../semaphore.ts';

/**
 * Something that will happen in its own time; `life` is the process that waits for it, and dies
 * with it.
 */
interface Pending {
  life: Life | undefined;
  happen: () => void;
}

/**
 * Kafka, Redis and the processes of a normaliser group in memory, where everything that takes time
 * waits until the test lets it happen, in any order that the real parts allow: records of a
 * partition land in the order they were sent, everything else is free. For tests.
 */
export class World {
  readonly topics = new Map<string, Buffer[]>();
  readonly committed = new Map<number, number>();
  readonly owners = new Map<number, Life>();
  readonly raw: readonly (readonly ConsumedMessage[])[];
  #claims = new Map<ClaimId, { position: LogPosition; acceptance: number }>();
  #marker = 0;
  #isFilled = false;
  #pending: Pending[] = [];
  readonly #wires = new Map<string, { value: Buffer; acknowledge: () => void }[]>();
  readonly #waitingForFill = new Map<Life, (marker: number) => void>();

  constructor(raw: readonly (readonly ConsumedMessage[])[]) {
    this.raw = raw;
  }

  /** A process that owns these partitions from now on; whoever owned them is fenced. */
  give(life: Life, partitions: readonly number[]): void {
    for (const partition of partitions) {
      this.owners.get(partition)?.fence(partition);
      this.owners.set(partition, life);
      life.start(partition);
    }
  }

  /** kill -9: nothing happens in it any more. What it sent may land at any time. */
  kill(life: Life): void {
    this.#pending = this.#pending.filter((one) => one.life !== life);
    this.#waitingForFill.delete(life);
  }

  /** FLUSHALL. The sweepers notice it, also where no traffic does. */
  flush(lives: readonly Life[]): void {
    this.#claims.clear();
    this.#isFilled = false;
    this.#marker++;
    for (const life of lives) this.later(life, () => life.sweep());
  }

  /** Lets one thing happen; false when nothing is left. */
  async step(choice: number): Promise<boolean> {
    await turn();
    await turn();
    this.#fill();
    await turn();
    const [one] = this.#pending.splice(choice % Math.max(1, this.#pending.length), 1);
    one?.happen();
    return one !== undefined;
  }

  later(life: Life | undefined, happen: () => void): void {
    this.#pending.push({ life, happen });
  }

  send(life: Life, { topic, partition, value }: OutgoingRecord, acknowledge: () => void): void {
    const name = `${topic}/${partition}`;
    const wire = this.#wires.get(`${life.name}/${name}`) ?? [];
    this.#wires.set(`${life.name}/${name}`, wire);
    wire.push({ value, acknowledge });
    this.later(undefined, () => this.#land(wire, { name, life }));
  }

  isFilledAs(marker: number): boolean {
    return this.#isFilled && marker === this.#marker;
  }

  settle(marker: number, entries: readonly ClaimToResolve[]): ResolvedClaims {
    if (!this.isFilledAs(marker)) return { status: 'lost' };
    return { status: 'settled', settlements: entries.map((entry) => this.#settleOne(entry)) };
  }

  waitForFill(life: Life): Promise<number> {
    return new Promise((resolve) => this.#waitingForFill.set(life, resolve));
  }

  /** What a consumer takes that skips places at or below the last one it has. */
  rows(partition: number): EventRow[] {
    const taken: EventRow[] = [];
    for (const value of this.topics.get(`${NAMES.normalised}/${partition}`) ?? []) {
      for (const row of rowBatchCodec.decode(value).rows) {
        const last = taken.at(-1);
        if (
          !last ||
          row._offset > last._offset ||
          (row._offset === last._offset && row._index > last._index)
        )
          taken.push(row);
      }
    }
    return taken;
  }

  #land(
    wire: { value: Buffer; acknowledge: () => void }[],
    { name, life }: { name: string; life: Life },
  ): void {
    const first = wire.shift();
    if (!first) return;
    const log = this.topics.get(name) ?? [];
    this.topics.set(name, log);
    log.push(first.value);
    if (life.isAlive) this.later(life, first.acknowledge);
  }

  #settleOne({ id, position: position, acceptance }: ClaimToResolve): ClaimResolution {
    const held = this.#claims.get(id);
    if (held === undefined) {
      this.#claims.set(id, { position, acceptance });
      return { verdict: 'first' };
    }
    if (samePosition(held.position, position)) return { verdict: 'replay' };
    return {
      verdict: held.acceptance === acceptance ? 'repeat' : 'duplicate',
      position: held.position,
    };
  }

  /**
   * As REFILL.md says: when the owners of all partitions wait and nothing is on its way, the claims
   * come from what was published.
   */
  #fill(): void {
    const owners = new Set(this.owners.values());
    if (this.#isFilled) return this.#release(new Set(this.#waitingForFill.keys()));
    if ([...owners].some((life) => !this.#waitingForFill.has(life))) return;
    if ([...this.#wires.values()].some((wire) => wire.length > 0)) return;
    for (const partition of this.raw.keys()) {
      for (const row of this.rows(partition)) {
        const message = this.raw[partition]?.find(({ offset }) => offset === row._offset);
        const entry = message && claimsToResolve([decodeRecord(message)], 0)[row._index];
        if (entry) this.#claims.set(entry.id, entry);
      }
    }
    this.#isFilled = true;
    this.#release(owners);
  }

  #release(lives: ReadonlySet<Life>): void {
    for (const life of lives) {
      this.#waitingForFill.get(life)?.(this.#marker);
      this.#waitingForFill.delete(life);
    }
  }
}

/** One process of the group, made of the real parts of the normaliser. */
export class Life {
  readonly name: string;
  readonly #world: World;
  readonly #shop: NormaliserDeps;
  readonly #gate: ClaimsGate;
  readonly #fences = new Map<number, AbortController>();
  readonly #batch: number;
  #marker = -1;
  isAlive = true;

  constructor(world: World, options: { name: string; batch: number }) {
    this.#world = world;
    this.name = options.name;
    this.#batch = options.batch;
    const gate = new ClaimsGate({
      fill: async () => {
        this.#marker = await world.waitForFill(this);
      },
      failed: () => undefined,
    });
    this.#gate = gate;
    this.#shop = {
      epoch: 0,
      gate,
      claims: { settle: (entries) => this.#settle(entries) },
      semaphore: new Semaphore(2),
      publisher: new Publisher(
        { send: (record, done) => world.send(this, record, () => done(undefined, 0)) },
        100_000,
      ),
      rowBatches: new RowBatchBuilder({ rows: 2, bytes: 100_000, rowBytes: 100_000 }),
      contexts: new ContextReader(new UserAgentCache(10)),
      names: NAMES,
      deadLetterPartitions: 1,
      judgeChunk: () => ({ verdict: 'pass', state: { processed: 0, dead: 0 } }),
      retryAfter: 0,
      now: () => 0,
      published: () => undefined,
      heldBack: () => undefined,
    };
    gate.start();
  }

  kill(): void {
    this.isAlive = false;
    this.#world.kill(this);
  }

  sweep(): void {
    if (!this.#world.isFilledAs(this.#marker)) this.#gate.claimsLost();
  }

  fence(partition: number): void {
    this.#fences.get(partition)?.abort(new Error('fenced'));
  }

  start(partition: number): void {
    const fence = new AbortController();
    this.#fences.set(partition, fence);
    const stopping = new AbortController().signal;
    const committed = this.#world.committed.get(partition);
    const released = () => undefined;
    const task = new NormaliserTask({
      partition,
      committed,
      deps: this.#shop,
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
    const log = this.#world.raw[partition] ?? [];
    for (let from = next; from < log.length && !fenced.aborted;) {
      const offset = await task.process(log.slice(from, from + this.#batch));
      if (offset === undefined) return;
      from = offset;
      this.#world.later(this, () => {
        if (!fenced.aborted)
          this.#world.committed.set(
            partition,
            Math.max(offset, this.#world.committed.get(partition) ?? 0),
          );
      });
    }
  }

  /** Takes effect in Redis at one time, and is answered at another. */
  #settle(entries: readonly ClaimToResolve[]): Promise<ResolvedClaims> {
    return new Promise((resolve) => {
      this.#world.later(this, () => {
        const settled = this.#world.settle(this.#marker, entries);
        this.#world.later(this, () => resolve(settled));
      });
    });
  }
}
