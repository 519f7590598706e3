import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IncompleteBody } from './incomplete-body.ts';

function watched(max = Infinity) {
  const budget = {
    held: 0,
    acquire(bytes: number) {
      if (budget.held + bytes > max) return false;
      budget.held += bytes;
      return true;
    },
    release: (bytes: number) => void (budget.held -= bytes),
  };
  return budget;
}

describe('a body that arrives in pieces', () => {
  it('is what was sent, and counts as many bytes, whatever the pieces are', () => {
    const sizes = fc.array(fc.oneof(fc.nat(50), fc.nat(100_000)), { maxLength: 20 });
    fc.assert(
      fc.property(sizes, (lengths) => {
        const pieces = lengths.map((length, at) => Buffer.alloc(length, at + 1));
        const whole = Buffer.concat(pieces);
        const budget = watched();
        const body = new IncompleteBody(whole.length, budget);
        for (const piece of pieces) {
          expect(body.add(piece)).toBe(true);
          expect(budget.held).toBeLessThanOrEqual(whole.length);
        }
        expect(body.bytes().equals(whole)).toBe(true);
        expect(budget.held).toBe(whole.length);
      }),
    );
  });

  it('byte by byte counts at most twice what has arrived', () => {
    const budget = watched();
    const body = new IncompleteBody(1024 * 1024, budget);
    for (let arrived = 1; arrived <= 200_000; arrived++) {
      body.add(Buffer.of(1));
      if (budget.held > 2 * arrived) throw new Error(`${budget.held} for ${arrived}`);
    }
    expect(body.bytes()).toHaveLength(200_000);
    expect(budget.held).toBe(200_000);
  });

  it('holds nothing when it is refused or released', () => {
    const budget = watched(100_000);
    const body = new IncompleteBody(1024 * 1024, budget);
    expect(body.add(Buffer.alloc(70_000))).toBe(true);
    expect(body.add(Buffer.alloc(10))).toBe(true);
    expect(body.add(Buffer.alloc(70_000))).toBe(false);
    body.release();
    expect(budget.held).toBe(0);
  });

  it('does not copy the large pieces of a body that is never complete', () => {
    const body = new IncompleteBody(1024 * 1024, undefined);
    const piece = Buffer.alloc(64 * 1024);
    body.add(piece);
    expect(body.bytes()).toBe(piece);
  });
});
