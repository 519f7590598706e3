import fc from 'fast-check';
import { expect, it } from 'vitest';
import { epochAsOf, offsetAfter, type EpochStart } from '../../platform/log/epochs.ts';
import {
  BEFORE_FIRST,
  comparePartitionPositions,
  partitionPositionKey,
  type PartitionPosition,
} from '../../schemas/log-position.ts';
import { plan, resume, type RecordedState, type RecordSummary } from './plan.ts';

const LIMITS = { rows: 5, bytes: 1_000_000 };

interface Step {
  /** New raw events. */
  raw: number;
  /** Rows of each record of events.normalised that is derived. */
  sizes: number[];
  /** Actions of the sink before it is killed; where in an action: before or after its insert. */
  actions: number;
  isKilledAfterInsert: boolean;
  isCommitLost: boolean;
  /** Share of the raw log and of events.normalised that is lost, in 0..10; undefined: nothing. */
  loss: { raw: number; normalised: number } | undefined;
  /** PostgreSQL is restored to what it held so many ranges ago; undefined: it is not. */
  restored: number | undefined;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    raw: fc.integer({ min: 0, max: 12 }),
    sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 }),
    actions: fc.integer({ min: 0, max: 4 }),
    isKilledAfterInsert: fc.boolean(),
    isCommitLost: fc.boolean(),
    loss: fc.option(
      fc.record({
        raw: fc.integer({ min: 0, max: 10 }),
        normalised: fc.integer({ min: 0, max: 10 }),
      }),
      { nil: undefined, freq: 2 },
    ),
    restored: fc.option(fc.nat(4), { nil: undefined, freq: 2 }),
  }),
  { maxLength: 15 },
);

/** A partition of both topics, a sink, and `./ravand log advance-epoch` after each loss. */
class World {
  readonly #rawEpochs: EpochStart[] = [];
  readonly #epochs: EpochStart[] = [];
  #epoch = 0;
  #raw = 0;
  #normalised: PartitionPosition[][] = [];
  /** Next raw offset to normalise. */
  #next = 0;
  #recorded: RecordedState = { range: undefined, unsure: BEFORE_FIRST };
  /** What PostgreSQL held since the log went back last, newest first. */
  #history: RecordedState[] = [];
  #committed = 0;
  readonly stored = new Map<string, number>();

  step(step: Step): void {
    this.#raw += step.raw;
    this.#normalise(step.sizes);
    this.#sink(step);
    if (step.loss) this.#lose(step.loss);
    if (step.restored !== undefined) this.#restore(step.restored);
  }

  /** An older PostgreSQL, and `./ravand log after-restore`. */
  #restore(back: number): void {
    const older = this.#history[Math.min(back, this.#history.length - 1)];
    if (!older) return;
    const last = this.#normalised.at(-1)?.at(-1) ?? BEFORE_FIRST;
    const isLater = comparePartitionPositions(last, older.unsure) > 0;
    this.#recorded = { range: older.range, unsure: isLater ? last : older.unsure };
    this.#history = [this.#recorded];
  }

  /** Every row of the log is stored in the end, each once. */
  finish(): void {
    this.#normalise([3]);
    this.#sink({
      actions: Number.POSITIVE_INFINITY,
      isKilledAfterInsert: false,
      isCommitLost: false,
    });
    for (const position of this.#normalised.flat())
      expect(this.stored.get(partitionPositionKey(position))).toBe(1);
    for (let offset = 0; offset < this.#raw; offset++)
      expect(this.stored.get(partitionPositionKey(this.#positionOf(offset)))).toBe(1);
    for (const count of this.stored.values()) expect(count).toBe(1);
  }

  #positionOf(offset: number): PartitionPosition {
    return { epoch: epochAsOf(this.#rawEpochs, offset, this.#epoch), offset, index: 0 };
  }

  #normalise(sizes: readonly number[]): void {
    for (let at = 0; this.#next < this.#raw; at++) {
      const size = Math.min(sizes[at % sizes.length] ?? 1, this.#raw - this.#next);
      const row = (_: unknown, n: number) => this.#positionOf(this.#next + n);
      const rows = Array.from({ length: size }, row);
      // A row batch holds rows of one epoch.
      const own = rows.filter(({ epoch }) => epoch === rows[0]?.epoch);
      this.#normalised.push(own);
      this.#next += own.length;
    }
  }

  #sink({
    actions: most,
    isKilledAfterInsert,
    isCommitLost,
  }: Pick<Step, 'actions' | 'isKilledAfterInsert' | 'isCommitLost'>): void {
    const state = resume(this.#recorded, this.#committed, this.#epochs);
    const from = state.next ?? 0;
    expect(from).toBeLessThanOrEqual(this.#normalised.length);
    const records = this.#normalised.slice(from).map((rows, at): RecordSummary => {
      const [first = BEFORE_FIRST, end = BEFORE_FIRST] = [rows[0], rows.at(-1)];
      const last = { ...end, epoch: first.epoch };
      const common = { kind: 'rows', bytes: 1, fingerprint: 'f' } as const;
      return { ...common, offset: from + at, first, last, rows: rows.length };
    });
    const planned = plan(state, records, LIMITS);
    for (const [at, action] of planned.actions.entries()) {
      if (action.kind !== 'store') continue;
      if (at > most) return;
      this.#recorded = { range: action.range, unsure: planned.state.unsure };
      this.#history.unshift(this.#recorded);
      if (at === most && !isKilledAfterInsert) return;
      for (const { offset, above } of action.slices)
        for (const position of this.#normalised[offset] ?? []) {
          if (above && comparePartitionPositions(position, above) <= 0) continue;
          const key = partitionPositionKey(position);
          const count = this.stored.get(key) ?? 0;
          // A repeated range inserts what the read-back does not find.
          if (!action.repeat || count === 0) this.stored.set(key, count + 1);
        }
      if (at === most) return;
      if (!isCommitLost) this.#committed = action.range.last + 1;
    }
    if (planned.used > 0 && !isCommitLost) this.#committed = planned.state.next ?? this.#committed;
  }

  #lose({ raw, normalised }: { raw: number; normalised: number }): void {
    const keptRaw = this.#raw - Math.floor((this.#raw * raw) / 10);
    const kept = this.#normalised.length - Math.floor((this.#normalised.length * normalised) / 10);
    if (keptRaw === this.#raw && kept === this.#normalised.length) return;
    this.#normalised.length = kept;
    this.#epoch++;
    this.#history = [this.#recorded];
    if (keptRaw < this.#raw) this.#rawEpochs.push({ epoch: this.#epoch, firstOffset: keptRaw });
    this.#epochs.push({ epoch: this.#epoch, firstOffset: kept });
    this.#raw = keptRaw;
    const last = this.#normalised.at(-1)?.at(-1);
    const derived = last === undefined ? 0 : offsetAfter(this.#rawEpochs, last);
    this.#next = Math.min(keptRaw, this.#next, derived);
    this.#committed = Math.min(this.#committed, kept);
  }
}

it('a log that goes back, or an older PostgreSQL, loses and doubles nothing that is still in the log, whatever is killed', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const world = new World();
      for (const step of all) world.step(step);
      world.finish();
    }),
    { numRuns: 2000 },
  );
});
