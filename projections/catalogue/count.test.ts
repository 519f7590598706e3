import fc from 'fast-check';
import { expect, it } from 'vitest';
import { dayText, tehranDay } from '../../events/tehran-time.ts';
import {
  CatalogueCounter,
  cellKey,
  CHUNK_RECORDS,
  type CatalogueRow,
  type Chunk,
  type CountedEvent,
} from './count.ts';

/**
 * event_catalogue as a map: of two rows with the same key the one with the higher version wins.
 */
class Table {
  readonly rows = new Map<string, CatalogueRow>();

  insert(rows: readonly CatalogueRow[]): void {
    for (const row of rows) {
      const key = [row.account_id, row.day, row.event, row._epoch, row.chunk].join();
      if (row.version > (this.rows.get(key)?.version ?? 0)) this.rows.set(key, row);
    }
  }

  sums(): Map<string, { count: number; keys: string[] }> {
    const sums = new Map<string, { count: number; keys: string[] }>();
    for (const { account_id, day, event, count, prop_keys } of this.rows.values()) {
      const key = `${account_id} ${day} ${event}`;
      const sum = sums.get(key) ?? { count: 0, keys: [] };
      sums.set(key, {
        count: sum.count + count,
        keys: [...new Set([...sum.keys, ...prop_keys])].sort(),
      });
    }
    return sums;
  }
}

const records: fc.Arbitrary<CountedEvent[][]> = fc
  .array(
    fc.array(
      fc.record({
        account_id: fc.constantFrom(1, 2),
        event: fc.constantFrom('a', 'b'),
        timestamp: fc.constantFrom(1_790_000_000_000, 1_790_080_000_000),
        properties: fc.constantFrom<Record<string, string>>({}, { p: '1' }, { p: '1', q: '2' }),
        step: fc.constantFrom(0, 1, CHUNK_RECORDS / 3),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    { maxLength: 12, size: 'max' },
  )
  .map((drawn) => {
    let [_offset, _index] = [0, 0];
    return drawn.map((run) =>
      run.map(({ step, ...event }) => {
        [_offset, _index] = [_offset + Math.floor(step), _index + 1];
        return { ...event, _epoch: 0, _offset, _index };
      }),
    );
  });

it('each event counts once after restarts, redeliveries, lost commits and late writes', () => {
  const steps = fc.array(
    fc.record({
      restart: fc.boolean(),
      records: fc.integer({ min: 1, max: 3 }),
      writes: fc.constantFrom('now', 'now', 'late', 'never'),
    }),
    {
      maxLength: 12,
    },
  );
  fc.assert(
    fc.property(records, steps, (log, schedule) => {
      const table = new Table();
      const late: CatalogueRow[][] = [];
      const start = () => {
        const newest = [...table.rows.values()].sort((a, b) => b.chunk - a.chunk)[0];
        const from: Chunk | undefined = newest && { epoch: newest._epoch, chunk: newest.chunk };
        return { counter: new CatalogueCounter(0, from), position: newest?.chunk_from ?? 0 };
      };
      let worker = start();
      const process = (count: number, writes: string) => {
        for (const record of log.slice(worker.position, worker.position + count))
          worker.counter.add(worker.position++, record);
        const rows = worker.counter.changed();
        if (writes === 'now') table.insert(rows);
        else {
          if (writes === 'late') late.push(rows);
          worker = start();
        }
      };
      for (const step of schedule) {
        if (step.restart) worker = start();
        process(step.records, step.writes);
      }
      while (worker.position < log.length) process(2, 'now');
      for (const rows of late) table.insert(rows);
      const expected = new Map<string, { count: number; keys: string[] }>();
      for (const { account_id, event, timestamp, properties } of log.flat()) {
        const key = `${account_id} ${dayText(tehranDay(timestamp))} ${event}`;
        const sum = expected.get(key) ?? { count: 0, keys: [] };
        expected.set(key, {
          count: sum.count + 1,
          keys: [...new Set([...sum.keys, ...Object.keys(properties)])].sort(),
        });
      }
      expect(table.sums()).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

it('keeps the days that left the log, and counts the others on, when the head of its chunk is gone', () => {
  const DAY = 86_400_000;
  const noon = 1_790_000_000_000;
  const events = Array.from({ length: 60 }, (_, at) => ({
    ...{ _epoch: 0, _offset: at, _index: 0, account_id: 1, event: 'a', properties: {} },
    timestamp: noon + Math.floor(at / 10) * DAY,
  }));
  const table = new Table();
  const count = (counter: CatalogueCounter, from: number, to: number) => {
    for (const event of events.slice(from, to)) counter.add(event._offset, [event]);
    table.insert(counter.changed());
  };
  count(new CatalogueCounter(0, undefined), 0, 34);
  // Each restart counts again what is left, then something more.
  for (const [low, end] of [
    [15, 35],
    [28, 44],
    [38, 60],
  ] as const) {
    const rows = [...table.rows.values()];
    const counter = new CatalogueCounter(0, { epoch: 0, chunk: 0 });
    counter.resume({
      from: Math.min(...rows.map((row) => row.chunk_from)),
      version: Math.max(...rows.map((row) => row.version)),
      counts: new Map(
        rows.map((row) => [
          cellKey(row.account_id, tehranDay(Date.parse(`${row.day}T12:00:00Z`)), row.event),
          row.count,
        ]),
      ),
    });
    count(counter, low, end);
    expect(new Set([...table.rows.values()].map((row) => row.chunk_from))).toEqual(new Set([0]));
  }
  const counts = [...table.sums().values()].map((sum) => sum.count);
  expect(counts).toEqual([10, 10, 10, 10, 10, 10]);
});
