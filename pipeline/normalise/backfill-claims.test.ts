import { describe, expect, it } from 'vitest';
import { claimId, claimScope } from '../../events/claims/claim-id.ts';
import type { ClaimToLoad } from '../../events/claims/resolution.ts';
import type { BackfillTarget } from '../../platform/claims/backfill.ts';
import { backfillClaims, type BackfillOptions } from './backfill-claims.ts';
import { spansOf, storedClaim, type Span } from './stored-claims.ts';

const claim = {
  id: claimId(claimScope(1, 'message'), 'm'),
  position: { epoch: 0, partition: 0, offset: 1, index: 0 },
  acceptance: 1,
  receivedAt: 5,
};
const now = 10_000_000_000;

function setUp(
  changes: Partial<BackfillOptions['ends']> & {
    read?: BackfillOptions['read'];
    recorded?: ReadonlyMap<number, number>;
  } = {},
) {
  const steps: string[] = [];
  const loaded: ClaimToLoad[] = [];
  const packs: Record<number, number>[] = [];
  const spans: Span[] = [];
  const ranges: [partition: number, from: number, to: number][] = [];
  const controller = new AbortController();
  const target: BackfillTarget = {
    signal: controller.signal,
    waitUntilDrained: ({ partitions }) => Promise.resolve(void steps.push(`drained ${partitions}`)),
    recordedEnds: () => Promise.resolve(changes.recorded ?? new Map()),
    packBelow: (stored) => void packs.push(Object.fromEntries(stored)),
    load: (claims) => Promise.resolve(void loaded.push(...claims)),
  };
  const options: BackfillOptions = {
    epoch: 0,
    partitions: 4,
    dedupeTtl: 172_800_000,
    ends: {
      normalised: () =>
        Promise.resolve(new Map([[0, { low: 0, high: 7 }]])).finally(() => steps.push('ends')),
      unstored: () => Promise.resolve(0).finally(() => steps.push('stored')),
      committed: () => Promise.resolve(new Map([[0, 5]])).finally(() => steps.push('committed')),
      backlogAge: () => Promise.resolve(60_000).finally(() => steps.push('backlog')),
      ...changes,
    },
    read:
      changes.read ??
      (async (span, _signal, onChunk) => {
        spans.push(span);
        await onChunk([claim]);
        return 1;
      }),
    readLog: async ({ partition, from, to }, _signal, onChunk) => {
      ranges.push([partition, from, to]);
      await onChunk(Array.from({ length: to - from }, () => claim));
      return to - from;
    },
    now: () => now,
    waiting: (sentence) => void steps.push(sentence),
  };
  return {
    steps,
    loaded,
    packs,
    spans,
    ranges,
    controller,
    run: () => backfillClaims(target, options),
  };
}

const order = (steps: string[]) =>
  steps.filter((step) => /^(drained|committed|ends|stored|backlog)/.test(step));

describe('the backfill of claims', () => {
  it('reads the ends only when all partitions are drained, and the rows only when all are stored', async () => {
    const { steps, loaded, packs, spans, run } = setUp();
    expect(await run()).toEqual({ from: 'warehouse', loaded: 8 });
    expect(order(steps)).toEqual(['drained 4', 'ends', 'committed', 'stored', 'backlog']);
    expect(packs).toEqual([{ 0: 5 }]);
    expect(loaded).toHaveLength(8);
    expect(spans[0]?.from).toBe(now - 172_800_000 - 60_000 - 600_000);
    expect(spans.at(-1)?.until).toBeUndefined();
  });

  it('waits until the sink has stored every published row', async () => {
    const answers = [3, 1, 0];
    const { steps, run } = setUp({ unstored: () => Promise.resolve(answers.shift() ?? 0) });
    await run();
    expect(steps.filter((step) => step.includes('the sink has stored'))).toHaveLength(2);
  });

  it('waits while Kafka or ClickHouse is unavailable, and repeats only the span that failed', async () => {
    let failures = 2;
    const reads: number[] = [];
    const { run, steps } = setUp({
      backlogAge: () =>
        failures-- > 1 ? Promise.reject(new Error('no broker')) : Promise.resolve(0),
      read: (span) => {
        reads.push(span.from);
        return reads.length === 3
          ? Promise.reject(new Error('connection refused'))
          : Promise.resolve(0);
      },
    });
    await run();
    expect(reads).toHaveLength(9);
    expect(reads[3]).toBe(reads[2]);
    expect(steps.some((step) => step.includes('no broker'))).toBe(true);
    expect(steps.some((step) => step.includes('connection refused'))).toBe(true);
  });

  describe('of a Redis that kept everything but its last writes', () => {
    const ends = (...highs: number[]) =>
      Promise.resolve(new Map(highs.map((high, partition) => [partition, { low: 2, high }])));

    it('reads the log from the recorded ends on, and nothing else', async () => {
      const recorded = new Map([
        [0, 5],
        [1, 9],
      ]);
      const { run, ranges, spans, loaded } = setUp({ recorded, normalised: () => ends(7, 9) });
      expect(await run()).toEqual({ from: 'log', loaded: 2 });
      expect(ranges).toEqual([[0, 5, 7]]);
      expect(spans).toEqual([]);
      expect(loaded).toHaveLength(2);
    });

    it('reads on until nothing was appended meanwhile', async () => {
      const answers = [5, 5, 8, 8];
      const { run, ranges } = setUp({
        recorded: new Map([[0, 4]]),
        normalised: () => ends(answers.shift() ?? 8),
      });
      expect(await run()).toEqual({ from: 'log', loaded: 4 });
      expect(ranges).toEqual([
        [0, 4, 5],
        [0, 5, 8],
      ]);
    });

    it('reads a partition without a recorded end from its start, if it was empty', async () => {
      const answers = [
        [7, 0],
        [7, 3],
      ];
      const empty = (highs: number[]) =>
        Promise.resolve(new Map(highs.map((high, at) => [at, { low: 0, high }])));
      const { run, ranges } = setUp({
        recorded: new Map([[0, 7]]),
        normalised: () => empty(answers.shift() ?? [7, 3]),
      });
      expect(await run()).toEqual({ from: 'log', loaded: 3 });
      expect(ranges).toEqual([[1, 0, 3]]);
    });

    it('loads the whole window when a partition with records has no recorded end', async () => {
      const { run } = setUp({ recorded: new Map([[0, 5]]), normalised: () => ends(7, 9) });
      expect(await run()).toMatchObject({ from: 'warehouse' });
    });

    it.each([
      ['the log has lost their records', 1],
      ['the log ends below them', 8],
    ])('loads the whole window when %s', async (_, end) => {
      const { run, ranges } = setUp({ recorded: new Map([[0, end]]), normalised: () => ends(7) });
      expect(await run()).toMatchObject({ from: 'warehouse' });
      expect(ranges).toEqual([]);
    });
  });

  it('stops when the lock is lost', async () => {
    const { run, controller } = setUp({ unstored: () => Promise.resolve(1) });
    setTimeout(() => controller.abort(new Error('lock lost')), 20);
    await expect(run()).rejects.toThrow('lock lost');
  });
});

describe('the spans of the window', () => {
  it('cover the window without gaps', () => {
    const spans = spansOf({ from: 100, now: 1001 });
    expect(spans[0]?.from).toBe(100);
    for (const [at, span] of spans.entries()) expect(span.until).toBe(spans[at + 1]?.from);
    expect(spansOf({ from: 5, now: 5 }).length).toBe(8);
  });
});

describe('the claim of a stored event', () => {
  it('has the id of the claim that the event held', () => {
    expect(storedClaim('[1,"m","",0,2,30,4,99,1790000000000]')).toEqual({
      id: claimId(claimScope(1, 'message'), 'm'),
      position: { epoch: 0, partition: 2, offset: 30, index: 4 },
      acceptance: 99,
      receivedAt: 1_790_000_000_000,
    });
    expect(storedClaim('[1,"m","d",0,2,30,4,99,5]').id).toBe(
      claimId(claimScope(1, 'acceptance'), 'd'),
    );
  });
});
