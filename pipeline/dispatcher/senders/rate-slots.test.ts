import { describe, expect, it } from 'vitest';
import { partOf, RateSlots } from './rate-slots.ts';

describe('the calls of a part of time', () => {
  it('begin one after the other, never together', () => {
    const slots = new RateSlots();
    slots.add({ from: 1000, calls: 4, intervalMs: 50 });
    expect(slots.take(10, 999)).toBe(0);
    expect(slots.take(10, 1000)).toBe(1);
    expect(slots.take(10, 1049)).toBe(0);
    expect(slots.take(10, 1100)).toBe(2);
    expect(slots.nextAt()).toBe(1150);
    expect(slots.take(10, 1290)).toBe(1);
    expect(slots.nextAt()).toBe(undefined);
  });

  it('that nobody used in time do not come in a burst', () => {
    const slots = new RateSlots();
    slots.add({ from: 0, calls: 250, intervalMs: 1 });
    expect(slots.take(1000, 200)).toBeLessThanOrEqual(101);
    slots.add({ from: 1000, calls: 1, intervalMs: 50 });
    expect(slots.take(1000, 5000)).toBe(0);
  });

  it('are asked for before the last ones are used', () => {
    const slots = new RateSlots();
    expect(slots.isRunningOut(0)).toBe(true);
    slots.add({ from: 0, calls: 100, intervalMs: 10 });
    expect(slots.isRunningOut(0)).toBe(false);
    expect(slots.isRunningOut(800)).toBe(true);
  });

  it.each([
    [0.5, { calls: 1, intervalMs: 2000 }],
    [100, { calls: 25, intervalMs: 10 }],
  ])('at %d a second are as many as the time has room for', (perSecond, part) => {
    expect(partOf(perSecond)).toEqual(part);
  });
});
