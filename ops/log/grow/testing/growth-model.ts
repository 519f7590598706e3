import {
  evolveHold,
  initialHold,
  splitBy,
  type Followed,
  type HoldState,
} from '../../../../ingest-gateway/hold/evolve.ts';
import { isInForce, partitionsAt, type LogLayout } from '../../../../platform/log/layout.ts';
import { isCancellable, nextStep, type GrowthView } from '../plan.ts';

/** An event: `hash` decides the partition of its person, `number` its order at its gateway. */
interface ModelEvent {
  gateway: number;
  number: number;
  hash: number;
}

type RawRecord = { event: ModelEvent } | { mark: { epoch: number; partitions: number } };

interface Held {
  event: ModelEvent;
  splitBy: number;
}

interface Row {
  event: ModelEvent;
  epoch: number;
  partition: number;
  offset: number;
}

interface Gateway {
  id: number;
  state: HoldState;
  /** Sent to Kafka, not appended yet: partition and event. */
  inFlight: { partition: number; event: ModelEvent }[];
  held: Held[];
  isFrozen: boolean;
  /** Ends of events.raw that the normaliser must reach. */
  waitsFor: number[] | undefined;
  /** What the next process finds on disk. */
  stored: Followed;
  /** What it last wrote to gateway_instances. */
  acknowledged: HoldState['phase'];
}

/**
 * Gateways, the command, the normaliser and a fold of profiles around a log in memory. The pure
 * deciders are those of production; a step is what a process does between two instructions that a
 * kill can separate.
 */
export class GrowthModel {
  layout: LogLayout = {
    generation: 1,
    partitions: 4,
    created: 4,
    phase: 'steady',
    nextPartitions: undefined,
    change: undefined,
    topics: {},
    formerTopics: {},
    history: [{ generation: 1, partitions: 4, epoch: 0 }],
  };
  readonly raw: RawRecord[][] = [[], [], [], []];
  readonly normalised: Row[][] = [[], [], [], []];
  /** By partition of events.raw: epochs and their first offsets. */
  readonly epochs: { epoch: number; first: number }[][] = [[], [], [], []];
  readonly gateways: Gateway[];
  /** Committed and processed offsets of the normaliser, by partition. */
  #committed: number[] = [0, 0, 0, 0];
  #processed: number[] = [0, 0, 0, 0];
  #folded: number[] = [0, 0, 0, 0];
  readonly #claims = new Map<string, string>();
  /** Answered 200. */
  readonly accepted: ModelEvent[] = [];
  /** By person, in the order of the fold. */
  readonly profiles = new Map<number, Row[]>();
  #next = 0;
  target = 4;

  constructor(gateways: number) {
    this.gateways = Array.from({ length: gateways }, (_, id) => ({
      id,
      state: initialHold({ followed: undefined, read: this.layout, hasHeld: false }),
      inFlight: [],
      held: [],
      isFrozen: false,
      waitsFor: undefined,
      stored: { generation: 1, partitions: 4 },
      acknowledged: 'passing',
    }));
  }

  /** A request: its event is answered when it is appended or held. */
  accept(gateway: Gateway, hash: number): void {
    if (gateway.isFrozen) return;
    const event = { gateway: gateway.id, number: this.#next++, hash };
    const by = splitBy(gateway.state);
    if (gateway.state.phase === 'passing') gateway.inFlight.push({ partition: hash % by, event });
    else {
      gateway.held.push({ event, splitBy: by });
      this.accepted.push(event);
    }
  }

  /** Kafka appends the oldest record that a gateway sent; also when that is frozen meanwhile. */
  append(gateway: Gateway): void {
    const sent = gateway.inFlight.shift();
    if (!sent) return;
    this.raw[sent.partition]?.push({ event: sent.event });
    if (!this.accepted.includes(sent.event)) this.accepted.push(sent.event);
  }

  poll(gateway: Gateway): void {
    if (gateway.isFrozen) return;
    gateway.acknowledged = gateway.state.phase;
    gateway.state = evolveHold(gateway.state, { fact: 'read', layout: this.layout });
    if (gateway.state.followed.partitions === gateway.stored.partitions)
      gateway.stored = gateway.state.followed;
  }

  work(gateway: Gateway): void {
    if (gateway.isFrozen) return;
    const { phase, followed } = gateway.state;
    if (phase === 'draining' && gateway.inFlight.length === 0)
      gateway.state = evolveHold(gateway.state, { fact: 'drained' });
    else if (phase === 'waiting') {
      gateway.waitsFor ??= this.raw.map(({ length }) => length);
      if (gateway.waitsFor.every((end, at) => (this.#committed[at] ?? 0) >= end)) {
        gateway.waitsFor = undefined;
        gateway.state = evolveHold(gateway.state, { fact: 'normalised' });
      }
    } else if (phase === 'releasing') {
      gateway.stored = followed;
      const next = gateway.held.shift();
      if (next) {
        const { event, splitBy: by } = next;
        const isFine = by % followed.partitions === 0;
        const partition = (isFine ? event.hash % by : event.hash) % followed.partitions;
        gateway.inFlight.push({ partition, event });
      } else gateway.state = evolveHold(gateway.state, { fact: 'released' });
    }
    if (phase !== 'waiting') gateway.waitsFor = undefined;
  }

  /** Kafka does not answer: what is in flight goes into the spool, and is answered. */
  spool({ inFlight }: Gateway): void {
    for (const { event } of inFlight) if (!this.accepted.includes(event)) this.accepted.push(event);
  }

  /** kill -9 and a restart: what is in flight was not answered, or is in the spool. */
  restart(gateway: Gateway): void {
    gateway.inFlight = gateway.inFlight.filter(({ event }) => this.accepted.includes(event));
    gateway.isFrozen = false;
    gateway.waitsFor = undefined;
    gateway.state = initialHold({
      followed: gateway.stored,
      read: this.layout,
      hasHeld: gateway.held.length > 0,
    });
    gateway.acknowledged = 'passing';
  }

  #view(): GrowthView {
    const { length } = this.raw;
    const epoch = Number(this.layout.change?.['epoch'] ?? Infinity);
    const marked = this.epochs.flatMap((own, partition) =>
      own.some((one) => one.epoch === epoch) ? [partition] : [],
    );
    // What lies before the marks; before a growth has any, everything.
    const end = (partition: number, { length }: readonly RawRecord[]) =>
      this.epochs[partition]?.find((one) => one.epoch === epoch)?.first ?? length;
    const isBehind =
      this.raw.some((records, at) => (this.#committed[at] ?? 0) < end(at, records)) ||
      this.normalised.some((rows, at) => (this.#folded[at] ?? 0) < rows.length);
    return {
      layout: this.layout,
      target: this.target,
      counts: new Map([['events.raw', length]]),
      unassigned: [],
      writers: this.gateways.map(({ id, acknowledged, isFrozen, state }) => ({
        instance: String(id),
        service: 'ingest-gateway',
        generation: state.followed.generation,
        phase: acknowledged,
        waitsFor: '',
        spooled: 0,
        age: isFrozen ? Infinity : 0,
      })),
      behind: isBehind ? [{ group: 'all', topic: 'events.raw', records: 1, members: 1 }] : [],
      marked: new Set(marked),
    };
  }

  /** One step of the command; a kill of it is that no step follows for a while. */
  command(): void {
    const view = this.#view();
    const step = nextStep(view);
    const { layout, target } = this;
    switch (step.step) {
      case 'begin':
        this.layout = { ...layout, phase: 'preparing', nextPartitions: target, change: {} };
        return;
      case 'create':
        while (this.raw.length < target) {
          this.raw.push([]);
          this.normalised.push([]);
          this.epochs.push([]);
          this.#committed.push(0);
          this.#processed.push(0);
          this.#folded.push(0);
        }
        return;
      case 'hold':
        this.layout = { ...layout, phase: 'holding', created: Math.max(layout.created, target) };
        return;
      case 'switch': {
        const epoch = 1 + Math.max(0, ...this.epochs.flat().map((one) => one.epoch));
        const generation = layout.generation + 1;
        const history = [...layout.history, { generation, partitions: target, epoch }];
        this.layout = { ...layout, phase: 'switching', change: { epoch }, history };
        return;
      }
      case 'mark': {
        // One partition at a time: the command may be killed in between, or before its row.
        const [partition = 0] = step.partitions;
        const epoch = Number(layout.change?.['epoch']);
        const records = this.raw[partition] ?? [];
        const at = records.findIndex((one) => 'mark' in one && one.mark.epoch === epoch);
        if (at === -1) records.push({ mark: { epoch, partitions: target } });
        else this.epochs[partition]?.push({ epoch, first: at });
        return;
      }
      case 'drain':
        this.layout = { ...layout, phase: 'draining' };
        return;
      case 'finish':
        this.layout = {
          ...layout,
          phase: 'steady',
          generation: layout.generation + 1,
          partitions: target,
          nextPartitions: undefined,
          change: undefined,
        };
        return;
      case 'wait':
      case 'done':
    }
  }

  cancel(): void {
    if (!isCancellable(this.layout)) return;
    this.layout = { ...this.layout, phase: 'steady', nextPartitions: undefined, change: undefined };
    this.target = this.layout.partitions;
  }

  get isSteady(): boolean {
    return this.layout.phase === 'steady' && this.layout.partitions === this.target;
  }

  /** The normaliser processes one record of a partition; its offset is committed later. */
  normalise(partition: number): void {
    const offset = this.#processed[partition] ?? 0;
    const record = this.raw[partition]?.[offset];
    if (!record) return;
    if ('mark' in record) {
      if (!isInForce(this.layout, record.mark.epoch)) return;
    } else this.#place(record.event, { partition, offset });
    this.#processed[partition] = offset + 1;
  }

  #place(event: ModelEvent, { partition, offset }: { partition: number; offset: number }): void {
    const starts = this.epochs[partition] ?? [];
    const epoch = Math.max(0, ...starts.filter(({ first }) => first <= offset).map((s) => s.epoch));
    const right = event.hash % partitionsAt(this.layout, epoch);
    if (right !== partition) {
      this.raw[right]?.push({ event });
      return;
    }
    const claim = this.#claims.get(String(event.number));
    const position = `${epoch}/${partition}/${offset}`;
    if (claim !== undefined && claim !== position) return;
    this.#claims.set(String(event.number), position);
    this.normalised[partition]?.push({ event, epoch, partition, offset });
  }

  commit(partition: number): void {
    this.#committed[partition] = this.#processed[partition] ?? 0;
  }

  /** kill -9 of the normaliser: it goes on from what was committed. */
  restartNormaliser(): void {
    this.#processed = [...this.#committed];
  }

  /** The profiles take one row of a partition. Throws when a row is out of place. */
  fold(partition: number): void {
    const row = this.normalised[partition]?.[this.#folded[partition] ?? 0];
    if (!row) return;
    this.#folded[partition] = (this.#folded[partition] ?? 0) + 1;
    const rows = this.profiles.get(row.event.hash) ?? [];
    this.profiles.set(row.event.hash, rows);
    const last = rows.at(-1);
    if (last?.epoch === row.epoch && last.partition !== row.partition)
      throw new Error(`event ${row.event.number} came through another partition`);
    if (!last || row.epoch > last.epoch || (row.epoch === last.epoch && row.offset > last.offset))
      rows.push(row);
  }

  get isFinished(): boolean {
    const view = this.#view();
    return (
      view.behind.length === 0 &&
      this.isSteady &&
      this.gateways.every(
        ({ state, inFlight, held }) =>
          state.phase === 'passing' && inFlight.length === 0 && held.length === 0,
      )
    );
  }
}
