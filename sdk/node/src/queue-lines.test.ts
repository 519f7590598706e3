import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linesOf, readLines, textOf, type Line } from './queue-lines.ts';

const EVENTS = [
  { id: 'a', json: '{"event":"خرید"}', attemptedAt: undefined },
  { id: 'b', json: '{}', attemptedAt: 17 },
];

describe('the lines of a queue file', () => {
  it('are the events that wait, in the order of their calls', () => {
    const { events, damaged } = readLines(textOf(linesOf(EVENTS)));
    expect([...events.values()]).toEqual(EVENTS);
    expect(damaged).toBe(0);
  });

  it('keep the first attempt, and forget what is complete', () => {
    const lines: Line[] = [
      ['e', 'a', '{}'],
      ['e', 'b', '{}'],
      ['a', 5, ['a', 'b', 'unknown']],
      ['a', 9, ['a']],
      ['r', ['b', 'unknown']],
    ];
    expect([...readLines(textOf(lines)).events.values()]).toEqual([
      { id: 'a', json: '{}', attemptedAt: 5 },
    ]);
  });

  it('that a crash damaged are left out and counted', () => {
    const whole = textOf([
      ['e', 'a', '{}'],
      ['e', 'b', '{}'],
    ]);
    const zeros = '\u0000'.repeat(20);
    for (const [text, ids, damaged] of [
      [`${whole}["e","c","{`, ['a', 'b'], 1],
      [`${whole}${zeros}`, ['a', 'b'], 1],
      [`${zeros}\n${whole}`, ['a', 'b'], 1],
      [`null\n7\n["x"]\n${whole}`, ['a', 'b'], 3],
    ] as const) {
      const read = readLines(text);
      expect([...read.events.keys()]).toEqual(ids);
      expect(read.damaged).toBe(damaged);
    }
  });

  it('cut at any byte are those that were whole', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string()), fc.nat(), (ids, cut) => {
        const bytes = Buffer.from(textOf(ids.map((id): Line => ['e', id, JSON.stringify({ id })])));
        const kept = bytes.subarray(0, cut % (bytes.length + 1)).toString();
        const read = readLines(kept);
        const whole = kept.split('\n').length - 1;
        // A line is whole when only its end is missing.
        expect([whole, whole + 1]).toContain(read.events.size);
        expect([...read.events.keys()]).toEqual(ids.slice(0, read.events.size));
      }),
    );
  });
});
