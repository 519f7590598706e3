import fc from 'fast-check';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, expect, it, vi } from 'vitest';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { drawnRuns } from '../../platform/testing/drawn-runs.ts';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { DeadLetter, EventRow } from '../../schemas/records.ts';
import { sinkMetrics } from './metrics.ts';
import { OwnershipLost } from './ownership.ts';
import { openPartition, type SinkDeps } from './task.ts';
import { Choices } from './testing/choices.ts';
import { NOW, POISON, SimulatedClickhouse } from './testing/simulated-clickhouse.ts';
import { Owner } from './testing/simulated-owner.ts';
import { simulatedPostgres } from './testing/simulated-postgres.ts';

// Retries do not wait.
vi.stubGlobal('setTimeout', (callback: () => void) => queueMicrotask(callback));
afterAll(() => vi.unstubAllGlobals());

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;
const DAY = 86_400_000;
const log = pino({ level: 'silent' });

interface Item {
  /** Days before now. */
  age: number;
  poison: boolean;
}

interface Scenario {
  items: Item[];
  /**
   * The records: number of rows, and how many rows of the previous record each repeats, as after a
   * crash of the normaliser.
   */
  cuts: { length: number; back: number; garbage: boolean; corrupt: boolean }[];
  choices: number[];
}

/** True once in `every` draws; shrinks to false. */
const rarely = (every: number) => fc.integer({ min: 0, max: every }).map((n) => n === every);

const scenarios: fc.Arbitrary<Scenario> = fc.record({
  items: fc.array(
    fc.record({
      age: fc.oneof(fc.integer({ min: 0, max: 90 }), fc.constant(401)),
      poison: rarely(15),
    }),
    { minLength: 1, maxLength: 30 },
  ),
  cuts: fc.array(
    fc.record({
      length: fc.integer({ min: 1, max: 6 }),
      back: fc.integer({ min: 0, max: 4 }),
      garbage: rarely(12),
      corrupt: rarely(20),
    }),
    { maxLength: 12 },
  ),
  choices: fc.array(fc.nat(1000), { minLength: 50, maxLength: 600, size: 'max' }),
});

/**
 * The log of one partition: row batches over the items, some overlapping, some unreadable.
 * `corrupt`: offsets whose only row batch holds undecodable rows.
 */
function logOf({ items, cuts }: Scenario): { messages: ConsumedMessage[]; corrupt: Set<number> } {
  const messages: ConsumedMessage[] = [];
  const corrupt = new Set<number>();
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
  let written = 0;
  for (const cut of [...cuts, { length: items.length, back: 0, garbage: false, corrupt: false }]) {
    if (cut.garbage) append(Buffer.from('no row batch'));
    const from = Math.max(0, written - cut.back);
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
    append(cut.corrupt ? corrupted(value) : value);
    // Corrupt rows are noticed only when they are decoded or inserted: rows above the previous high
    // watermark are lost with the record.
    if (cut.corrupt)
      for (let offset = Math.max(from, written); offset < until; offset++) corrupt.add(offset);
    written = Math.max(written, until);
  }
  return { messages, corrupt };
}

/** Keeps the head of the record readable. */
function corrupted(value: Buffer): Buffer {
  return Buffer.concat([
    value.subarray(0, value.length - 40),
    Buffer.alloc(40, 0xff),
    Buffer.of(0),
  ]);
}

function rowOf({ age, poison }: Item, offset: number): EventRow {
  return {
    ...EMPTY,
    _offset: offset,
    account_id: 1,
    event: poison ? POISON : 'x',
    message_id: `m${offset}`,
    timestamp: NOW - age * DAY,
  };
}

async function simulate(scenario: Scenario) {
  const choices = new Choices(scenario.choices);
  const { messages, corrupt } = logOf(scenario);
  const clickhouse = new SimulatedClickhouse(choices);
  const database = simulatedPostgres(choices);
  const dead: Pick<DeadLetter, 'offset' | 'index' | 'message_id'>[] = [];
  let committed: number | undefined;
  const owners: Owner[] = [];
  const ends: Promise<void>[] = [];

  const processLog = async (owner: Owner): Promise<void> => {
    const deps: SinkDeps = {
      database: owner.guard(database),
      eventsTable: owner.guard(clickhouse),
      deadLetters: owner.guard({
        send: (deadLetter) => Promise.resolve(void dead.push(deadLetter)),
        close: () => Promise.resolve(),
      }),
      // The breaker sometimes holds dead letters back: then the batch is stored again.
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
    const task = await openPartition(deps, {
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
    const ended = processLog(owner).then(
      () => 'done' as const,
      (error: unknown) => {
        // A paused process resumed during its claim and took the partition over: the group assigns
        // it to a new process.
        if (error instanceof OwnershipLost) return 'revoked' as const;
        throw error;
      },
    );
    owners.push(owner);
    ends.push(ended.then(() => undefined));
    if (generation > 100) throw new Error('no owner processes the whole log');
    const outcome = await Promise.race([ended, owner.revoked.then(() => 'revoked' as const)]);
    // Paused processes resume while a later owner works, or at the very end.
    for (const paused of owners) if (choices.next(3) === 1) paused.resume();
    if (outcome === 'done' && owner.isMember) break;
  }
  for (const owner of owners) owner.resume();
  await Promise.all(ends.filter((_, at) => owners[at]?.isKilled === false));
  clickhouse.deliverAll();
  return { clickhouse, dead, corrupt };
}

it('each row is stored once and each refused row is a dead letter, whatever is killed, paused, lost or late', async () => {
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => {
      const { clickhouse, dead: deadLetters, corrupt } = await simulate(scenario);
      const dead = new Set(deadLetters.map(({ message_id }) => message_id));
      scenario.items.forEach(({ age, poison }, offset) => {
        const count = clickhouse.counts.get(`0:${offset}:0`) ?? 0;
        if (corrupt.has(offset) || (poison && age > 400)) expect(count).toBe(0);
        else if (poison)
          expect({ offset, count, dead: dead.has(`m${offset}`) }).toEqual({
            offset,
            count: 0,
            dead: true,
          });
        else if (age > 400) expect(count).toBeLessThanOrEqual(1);
        else expect({ offset, count }).toEqual({ offset, count: 1 });
      });
    }),
    { numRuns: Number(process.env['RUNS'] ?? drawnRuns(1500)) },
  );
}, 120_000);
