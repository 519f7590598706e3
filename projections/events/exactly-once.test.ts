import fc from 'fast-check';
import pino from 'pino';
import { Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { DeadLetter, EventRow } from '../../schemas/records.ts';
import { OwnershipLost } from './ranges.ts';
import { Choices } from './testing/choices.ts';
import { NOW, POISON, SimulatedClickhouse } from './testing/clickhouse.ts';
import { Owner } from './testing/owners.ts';
import { simulatedPostgres } from './testing/postgres.ts';
import { sinkMetrics } from './sink-metrics.ts';
import { openPartition, type SinkParts } from './task.ts';

// Waiting is not what is tested here.
vi.mock('../../platform/backoff.ts', async (original) => ({
  ...(await original<object>()),
  delay: () => Promise.resolve(),
}));

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;
const DAY = 86_400_000;
const log = pino({ level: 'silent' });

interface Item {
  /** Days before now. */
  age: number;
  poison: boolean;
}

interface World {
  items: Item[];
  /**
   * Lengths of the runs and how many rows each run repeats of the one before, as after a crash of
   * the normaliser.
   */
  cuts: { length: number; back: number; garbage: boolean; torn: boolean }[];
  choices: number[];
}

const worlds: fc.Arbitrary<World> = fc.record({
  items: fc.array(
    fc.record({
      age: fc.oneof(fc.integer({ min: 0, max: 90 }), fc.constant(401)),
      poison: fc.integer({ min: 0, max: 15 }).map((n) => n === 15),
    }),
    {
      minLength: 1,
      maxLength: 30,
    },
  ),
  cuts: fc.array(
    fc.record({
      length: fc.integer({ min: 1, max: 6 }),
      back: fc.integer({ min: 0, max: 4 }),
      garbage: fc.integer({ min: 0, max: 12 }).map((n) => n === 12),
      torn: fc.integer({ min: 0, max: 20 }).map((n) => n === 20),
    }),
    { maxLength: 12 },
  ),
  choices: fc.array(fc.nat(1000), { minLength: 50, maxLength: 600, size: 'max' }),
});

/**
 * The log of one partition: runs over the items, some overlapping, some unreadable. `torn`: places
 * in runs whose rows cannot be read.
 */
function logOf({ items, cuts }: World): { messages: ConsumedMessage[]; torn: Set<number> } {
  const messages: ConsumedMessage[] = [];
  const torn = new Set<number>();
  const append = (value: Buffer) =>
    messages.push({
      topic: 't',
      partition: 0,
      offset: messages.length,
      timestamp: NOW,
      key: null,
      value,
      size: value.length,
    });
  let taken = 0;
  for (const cut of [...cuts, { length: items.length, back: 0, garbage: false, torn: false }]) {
    if (cut.garbage) append(Buffer.from('not a run'));
    const from = Math.max(0, taken - cut.back);
    const until = Math.min(items.length, from + cut.length);
    if (from >= until) continue;
    const rows = items.slice(from, until).map((item, at) => rowOf(item, from + at));
    const head = {
      epoch: 0,
      partition: 0,
      first_offset: from,
      first_index: 0,
      last_offset: until - 1,
      last_index: 0,
      appended_at: NOW,
    };
    const value = rowBatchCodec.encode({ ...head, rows });
    // A tear is seen only when the rows are decoded or inserted; the places above the last one
    // taken are lost with it.
    if (cut.torn) for (let place = Math.max(from, taken); place < until; place++) torn.add(place);
    append(
      cut.torn
        ? Buffer.concat([
            value.subarray(0, value.length - 40),
            Buffer.alloc(40, 0xff),
            Buffer.of(0),
          ])
        : value,
    );
    taken = Math.max(taken, until);
  }
  return { messages, torn };
}

function rowOf({ age, poison }: Item, place: number): EventRow {
  return {
    ...EMPTY,
    _offset: place,
    account_id: 1,
    event: poison ? POISON : 'x',
    message_id: `m${place}`,
    timestamp: NOW - age * DAY,
  };
}

async function simulate(world: World) {
  const choices = new Choices(world.choices);
  const { messages, torn } = logOf(world);
  const clickhouse = new SimulatedClickhouse(choices);
  const database = simulatedPostgres(choices);
  const letters: Pick<DeadLetter, 'offset' | 'index' | 'message_id'>[] = [];
  let committed: number | undefined;
  const owners: Owner[] = [];
  const runs: Promise<void>[] = [];

  const work = async (owner: Owner): Promise<void> => {
    const parts: SinkParts = {
      database: owner.guard(database),
      warehouse: owner.guard(clickhouse),
      deadLetters: owner.guard({
        bury: (letter) => Promise.resolve(void letters.push(letter)),
        close: () => Promise.resolve(),
      }),
      // Now and then letters are held back: the batch is stored once more and asked for again.
      guard: {
        admits: () => Promise.resolve(!choices.chance(4)),
        refuses: () => choices.chance(4),
        problems: () => [],
      },
      metrics: sinkMetrics(new Registry()),
      log,
      limits: { rows: 8, bytes: 100_000 },
      sink: 's',
      topic: 't',
      owner: 'o',
      now: () => NOW,
    };
    const task = await openPartition(parts, {
      partition: 0,
      committed,
      fenced: new AbortController().signal,
    });
    for (let next = task.from ?? 0; next < messages.length;) {
      const batch = messages.slice(next, next + 1 + choices.next(5));
      next += batch.length;
      const commit = await task.process(batch);
      if (!owner.isMember) return;
      // A commit can be lost with the process that sent it.
      if (commit !== undefined && !choices.chance(6)) committed = commit;
    }
  };
  for (let generation = 0; ; generation++) {
    const owner = new Owner(choices, generation < 12);
    const ended = work(owner).then(
      () => 'done' as const,
      (error: unknown) => {
        // A sleeper that woke up within its claim took the partition: the group gives it to a new
        // process.
        if (error instanceof OwnershipLost) return 'gone' as const;
        throw error;
      },
    );
    owners.push(owner);
    runs.push(ended.then(() => undefined));
    if (generation > 100) throw new Error('no owner gets to the end');
    const outcome = await Promise.race([ended, owner.gone.then(() => 'gone' as const)]);
    // Sleepers wake up while a later owner works, or at the very end.
    for (const sleeper of owners) if (choices.next(3) === 1) sleeper.wakeUp();
    if (outcome === 'done' && owner.isMember) break;
  }
  for (const owner of owners) owner.wakeUp();
  await Promise.all(runs.filter((_, at) => owners[at]?.isKilled === false));
  clickhouse.deliverAll();
  return { clickhouse, letters, torn, messages, committed };
}

it('stores each row once and buries what is refused, whatever crashes, is lost, comes late or wakes up again', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const { clickhouse, letters, torn } = await simulate(world);
      const buried = new Set(letters.map(({ message_id }) => message_id));
      world.items.forEach(({ age, poison }, place) => {
        const count = clickhouse.counts.get(`0:${place}:0`) ?? 0;
        if (torn.has(place) || (poison && age > 400)) expect(count).toBe(0);
        else if (poison)
          expect({ place, count, buried: buried.has(`m${place}`) }).toEqual({
            place,
            count: 0,
            buried: true,
          });
        else if (age > 400) expect(count).toBeLessThanOrEqual(1);
        else expect({ place, count }).toEqual({ place, count: 1 });
      });
    }),
    { numRuns: Number(process.env['RUNS'] ?? 1500) },
  );
}, 120_000);
