import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClaimId } from '../../../events/claims/claim-id.ts';
import { samePosition } from '../../../events/claims/position-bytes.ts';
import type {
  ClaimAnswer,
  ClaimToResolve,
  StoredAnswer,
} from '../../../events/claims/resolution.ts';
import type { ResolvedClaims } from '../../../platform/claims/claim-store.ts';
import type { ConsumedMessage } from '../../../platform/kafka/consumer-types.ts';
import type { OutgoingRecord } from '../../../platform/kafka/producer.ts';
import { rowBatchCodec } from '../../../schemas/codec.ts';
import {
  BEFORE_FIRST,
  type LogPosition,
  type PartitionPosition,
} from '../../../schemas/log-position.ts';
import type { EventRow } from '../../../schemas/records.ts';
import { claimsToResolve, type ClaimOfEvent } from '../../../events/raw/record-claims.ts';
import { NAMES } from '../config.ts';
import { decodeRecords } from '../../../events/raw/decode-record.ts';

/** A process of the group. */
export interface Instance {
  readonly name: string;
  readonly isAlive: boolean;
  sweep(): void;
  fence(partition: number): void;
  start(partition: number): void;
}

/**
 * An asynchronous step that the test triggers; `instance` is the process that waits for it, and a
 * kill discards it.
 */
interface Pending {
  instance: Instance | undefined;
  run: () => void;
}

interface HeldClaim {
  position: LogPosition;
  acceptance: number;
}

/** What Redis holds; `packed`: ids of packed claims. */
interface Contents {
  claims: Map<ClaimId, HeldClaim>;
  packed: Set<ClaimId>;
  ends: Map<number, number>;
}

/**
 * Kafka, Redis and the processes of a normaliser group in memory. The test triggers every
 * asynchronous step, in any order that the real systems allow: records of a partition are appended
 * in the order they were sent, all other steps are unordered.
 */
export class ClusterModel {
  readonly topics = new Map<string, Buffer[]>();
  readonly committed = new Map<number, number>();
  readonly owners = new Map<number, Instance>();
  readonly raw: readonly (readonly ConsumedMessage[])[];
  #claims = new Map<ClaimId, HeldClaim>();
  /** Recorded ends of events.normalised, by partition. */
  #ends = new Map<number, number>();
  /** The contents of Redis after each of its writes: what an append-only file may bring back. */
  #history: Contents[] = [];
  #packed = new Set<ClaimId>();
  /** Ends of events.normalised up to which the rows are stored. */
  #stored = new Map<number, number>();
  #marker = 0;
  #isLoaded = false;
  #pending: Pending[] = [];
  readonly #inFlight = new Map<string, { value: Buffer; acknowledge: () => void }[]>();
  readonly #waitingForLoad = new Map<Instance, (marker: number) => void>();

  constructor(raw: readonly (readonly ConsumedMessage[])[]) {
    this.raw = raw;
  }

  /** Assigns the partitions to a process; the previous owners are fenced. */
  assign(instance: Instance, partitions: readonly number[]): void {
    for (const partition of partitions) {
      this.owners.get(partition)?.fence(partition);
      this.owners.set(partition, instance);
      instance.start(partition);
    }
  }

  /** kill -9: the process takes no further step. Records it sent may be appended at any time. */
  kill(instance: Instance): void {
    this.#pending = this.#pending.filter((one) => one.instance !== instance);
    this.#waitingForLoad.delete(instance);
  }

  /** FLUSHALL. The sweepers detect it even without traffic. */
  flush(instances: readonly Instance[]): void {
    this.#claims.clear();
    this.#packed.clear();
    this.#ends.clear();
    this.#wrote();
    this.#isEmptied(instances);
  }

  /** A restart, or a failover to a replica: the last `lost` writes are gone. */
  restart(instances: readonly Instance[], lost: number): void {
    const kept = Math.max(0, this.#history.length - lost);
    this.#history.length = kept;
    const state = this.#history.at(-1);
    this.#claims = new Map(state?.claims);
    this.#packed = new Set(state?.packed);
    this.#ends = new Map(state?.ends);
    this.#isEmptied(instances);
  }

  #isEmptied(instances: readonly Instance[]): void {
    this.#isLoaded = false;
    this.#marker++;
    for (const instance of instances) this.later(instance, () => instance.sweep());
  }

  /** The ends of events.normalised now; every partition has one. */
  normalisedEnds(): Map<number, number> {
    return new Map(
      this.raw.map((_, partition) => [
        partition,
        this.topics.get(`${NAMES.normalised}/${partition}`)?.length ?? 0,
      ]),
    );
  }

  /** The write of a sweep, in a Redis that holds the claims. */
  recordEnds(marker: number, ends: ReadonlyMap<number, number>): void {
    if (!this.isLoadedAs(marker)) return;
    for (const [partition, end] of ends) this.#ends.set(partition, end);
    this.#wrote();
  }

  #wrote(): void {
    this.#history.push({
      claims: new Map(this.#claims),
      packed: new Set(this.#packed),
      ends: new Map(this.#ends),
    });
  }

  /**
   * StoredOffsets and the sink, each in steps of their own: reads the committed offsets, then the
   * ends; the sink stores what is below them; then claims below the offsets are packed.
   */
  pack(instance: Instance, marker: number): void {
    this.later(instance, () => {
      const committed = new Map(this.committed);
      this.later(instance, () => {
        const ends = this.normalisedEnds();
        this.later(instance, () => {
          for (const [partition, end] of ends)
            this.#stored.set(partition, Math.max(end, this.#stored.get(partition) ?? 0));
          this.later(instance, () => this.#packBelow(committed, marker));
        });
      });
    });
  }

  #packBelow(committed: ReadonlyMap<number, number>, marker: number): void {
    if (!this.isLoadedAs(marker)) return;
    for (const [id, { position }] of this.#claims) {
      if (position.offset >= (committed.get(position.partition) ?? 0)) continue;
      this.#claims.delete(id);
      this.#packed.add(id);
    }
    this.#wrote();
  }

  storedRows(claims: readonly ClaimOfEvent[]): Exclude<StoredAnswer, 'ask'>[] {
    const rows = [...this.raw.keys()].flatMap((partition) =>
      this.rows(partition, this.#stored.get(partition) ?? 0),
    );
    return claims.map((claim) => {
      const row = rows.find(({ message_id }) => message_id === claim.key);
      if (!row) return 'none';
      const { _epoch: epoch, _partition: partition, _offset: offset, _index: index } = row;
      const position = { epoch, partition, offset, index };
      return { position, acceptance: row._acceptance, receivedAt: row.received_at };
    });
  }

  /** Triggers one pending step; false when none is left. */
  async step(choice: number): Promise<boolean> {
    await nextTurn();
    await nextTurn();
    this.#backfill();
    await nextTurn();
    const [one] = this.#pending.splice(choice % Math.max(1, this.#pending.length), 1);
    one?.run();
    return one !== undefined;
  }

  later(instance: Instance | undefined, run: () => void): void {
    this.#pending.push({ instance, run });
  }

  send(
    instance: Instance,
    { topic, partition, value }: OutgoingRecord,
    acknowledge: () => void,
  ): void {
    const name = `${topic}/${partition}`;
    const queue = this.#inFlight.get(`${instance.name}/${name}`) ?? [];
    this.#inFlight.set(`${instance.name}/${name}`, queue);
    queue.push({ value, acknowledge });
    this.later(undefined, () => this.#append(queue, { name, instance }));
  }

  isLoadedAs(marker: number): boolean {
    return this.#isLoaded && marker === this.#marker;
  }

  resolve(marker: number, claims: readonly ClaimToResolve[]): ResolvedClaims {
    if (!this.isLoadedAs(marker)) return { status: 'lost' };
    const resolutions = claims.map((claim) => this.#resolveOne(claim));
    this.#wrote();
    return { status: 'resolved', resolutions };
  }

  held(ids: readonly ClaimId[]): boolean[] {
    return ids.map((id) => this.#claims.has(id) || this.#packed.has(id));
  }

  lastPublished(partition: number): PartitionPosition {
    const last = this.rows(partition).at(-1);
    return last ? { epoch: last._epoch, offset: last._offset, index: last._index } : BEFORE_FIRST;
  }

  waitForLoad(instance: Instance): Promise<number> {
    return new Promise((resolve) => this.#waitingForLoad.set(instance, resolve));
  }

  /** The rows that a consumer processes that skips positions it has already processed. */
  rows(partition: number, end?: number): EventRow[] {
    const processed: EventRow[] = [];
    const log = this.topics.get(`${NAMES.normalised}/${partition}`) ?? [];
    for (const value of log.slice(0, end)) {
      for (const row of rowBatchCodec.decode(value).rows) {
        const last = processed.at(-1);
        if (
          !last ||
          row._offset > last._offset ||
          (row._offset === last._offset && row._index > last._index)
        )
          processed.push(row);
      }
    }
    return processed;
  }

  #append(
    queue: { value: Buffer; acknowledge: () => void }[],
    { name, instance }: { name: string; instance: Instance },
  ): void {
    const first = queue.shift();
    if (!first) return;
    const log = this.topics.get(name) ?? [];
    this.topics.set(name, log);
    log.push(first.value);
    if (instance.isAlive) this.later(instance, first.acknowledge);
  }

  /** Every event was received at the same time, so every packed claim is asked for. */
  #resolveOne({ id, position: position, acceptance, stored }: ClaimToResolve): ClaimAnswer {
    let held = this.#claims.get(id);
    if (held === undefined && typeof stored === 'object') held = stored;
    else if (held === undefined && this.#packed.has(id))
      return stored === 'none' ? { verdict: 'duplicate' } : { verdict: 'ask', since: 0, until: 0 };
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
   * The protocol of BACKFILL.md: when the owners of all partitions wait and nothing is in flight,
   * the claims are loaded from what was published since the recorded ends, or from everything.
   */
  #backfill(): void {
    const owners = new Set(this.owners.values());
    if (this.#isLoaded) return this.#resume(new Set(this.#waitingForLoad.keys()));
    if ([...owners].some((instance) => !this.#waitingForLoad.has(instance))) return;
    if ([...this.#inFlight.values()].some((queue) => queue.length > 0)) return;
    for (const partition of this.raw.keys()) {
      for (const row of this.#lostRows(partition)) {
        const message = this.raw[partition]?.find(({ offset }) => offset === row._offset);
        const claims = message ? claimsToResolve(decodeRecords(message), () => 0) : [];
        const claim = claims.find(({ position }) => position.index === row._index);
        if (claim && !this.#packed.has(claim.id)) this.#claims.set(claim.id, claim);
      }
    }
    this.#wrote();
    this.#isLoaded = true;
    this.#resume(owners);
  }

  #lostRows(partition: number): EventRow[] {
    const end = this.#ends.size === this.raw.length ? this.#ends.get(partition) : undefined;
    if (end === undefined) return this.rows(partition);
    const log = this.topics.get(`${NAMES.normalised}/${partition}`) ?? [];
    return log.slice(end).flatMap((value) => rowBatchCodec.decode(value).rows);
  }

  #resume(instances: ReadonlySet<Instance>): void {
    for (const instance of instances) {
      this.#waitingForLoad.get(instance)?.(this.#marker);
      this.#waitingForLoad.delete(instance);
    }
  }
}
