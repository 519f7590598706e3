import fc from 'fast-check';
import { expect, it } from 'vitest';
import { countHere } from '../../many-events/testing/count-here.ts';
import { nativeBlock } from '../../many-events/testing/many-rows.ts';
import type { Dataset } from '../../testing/dataset.ts';
import { answerFunnel } from '../answer.ts';
import { GAP_SHIFT } from '../event-arrays.ts';
import { eventsOf } from '../few/testing/events-of.ts';
import { funnelCases } from '../few/testing/cases.ts';
import { parseFunnel, type FunnelRequest } from '../request.ts';
import { funnelModel } from '../testing/model.ts';
import { funnelOfMany } from './funnel-of-many.ts';

const RUNS = 3000;

function requestOf(body: object): FunnelRequest {
  const parsed = parseFunnel(body);
  if (!parsed.ok) throw new Error(`${parsed.problem.message}: ${JSON.stringify(body)}`);
  return parsed.request;
}

/** The result of the statement, in blocks of a few rows. */
function resultOf(dataset: Dataset, request: FunnelRequest): Buffer {
  const { person, t, bits } = eventsOf(dataset, request);
  const hashes = new Map([...new Set(person)].map((name, at) => [name, hashOf(at)]));
  const rows = person.map((name, at) => ({
    person: hashes.get(name) ?? 0n,
    key: (t[at] ?? 0) * 2 ** GAP_SHIFT + (bits[at] ?? 0),
  }));
  // ClickHouse gives them in no order
  rows.sort((one, other) => ((one.key * 7919) % 101) - ((other.key * 7919) % 101));
  return Buffer.concat([nativeBlock(rows.slice(0, 3)), nativeBlock(rows.slice(3))]);
}

/** Two people share a partition, and their hashes differ in the upper half only. */
function hashOf(at: number): bigint {
  return BigInt(at) << 40n;
}

it('a funnel counted by threads is that of the model', () => {
  const reached: number[] = [];
  fc.assert(
    fc.property(funnelCases('ordered'), fc.integer({ min: 1, max: 400 }), (one, size) => {
      const request = requestOf({ ...one.body, exclude: [], breakdown: undefined });
      const many = funnelOfMany(request, 1);
      fc.pre(many !== undefined);
      const result = resultOf(one.dataset, request);
      const pieces = Array.from({ length: Math.ceil(result.length / size) }, (_, at) =>
        result.subarray(at * size, (at + 1) * size),
      );
      const rows = countHere(many, [pieces]);
      const measured = { freshUntil: 0, rowsRead: 0, elapsedMs: 0 };
      const { steps } = answerFunnel({ request, rows: rows as never, measured });
      const expected = funnelModel(one.dataset, request);
      reached.push(expected.steps.findLastIndex(({ count }) => count > 0));
      expect({ steps }).toEqual(expected);
    }),
    { numRuns: RUNS },
  );
  expect(reached.filter((step) => step >= 1).length).toBeGreaterThan(RUNS / 10);
  expect(reached.filter((step) => step >= 2).length).toBeGreaterThan(RUNS / 100);
});

it.each([
  { steps: ['a', 'b'], isCounted: true },
  { steps: ['a', 'a'], isCounted: false },
  { steps: ['a', 'b'], order: 'any', isCounted: false },
  { steps: ['a', 'b'], order: 'strict', isCounted: false },
  { steps: ['a', 'b'], exclude: [{ event: 'c' }], isCounted: false },
  { steps: ['a', 'b'], breakdown: { property: 'p', step: 1 }, isCounted: false },
])('threads count the plain funnel only: %j', ({ steps, isCounted, ...more }) => {
  const events = steps.map((event) => ({ event }));
  const request = requestOf({ steps: events, from: '2026-09-01', to: '2026-09-02', ...more });
  expect(funnelOfMany(request, 1) !== undefined).toBe(isCounted);
});
