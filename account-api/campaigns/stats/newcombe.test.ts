import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newcombe, type Side } from './newcombe.ts';

const side = (converted: number, people: number): Side => ({ converted, people });

describe('the interval of a difference of two proportions', () => {
  it.each([
    ['Newcombe 1998, table II (a)', side(56, 70), side(48, 80), 0.2, 0.0524, 0.3339],
    ['Newcombe 1998, table II (b)', side(9, 10), side(3, 10), 0.6, 0.1705, 0.809],
    ['Newcombe 1998, table II (c)', side(6, 7), side(2, 7), 0.5714, 0.0582, 0.8062],
    ['Newcombe 1998, table II (d)', side(5, 56), side(0, 29), 0.0893, -0.0381, 0.1926],
    ['facts-messaging 10', side(540, 9000), side(45, 1000), 0.015, -0.0004, 0.0273],
  ])('is that of %s', (_, treated, control, difference, low, high) => {
    const found = newcombe(treated, control);
    expect(found.difference).toBeCloseTo(difference, 4);
    expect([found.low, found.high].map((edge) => Number(edge.toFixed(4)))).toEqual([low, high]);
  });

  /** confint_proportions_2indep(method='newcomb') of statsmodels. */
  it.each([
    [side(56, 70), side(48, 80), 0.05243147240236498, 0.33387265403690614],
    [side(540, 9000), side(45, 1000), -0.0004232295301758761, 0.027305582074338912],
    [side(0, 10), side(0, 20), -0.1611251580528194, 0.27753279986288926],
    [side(10, 10), side(0, 20), 0.6790860371419145, 1],
    [side(7, 7), side(1, 1), -0.3543304350666875, 0.7934506856227626],
    [side(1, 1_000_000), side(3, 50_000), -0.0001754113483428601, -1.9131762512318305e-5],
  ])('is that of statsmodels: %o against %o', (treated, control, low, high) => {
    const found = newcombe(treated, control);
    expect(found.low).toBeCloseTo(low, 12);
    expect(found.high).toBeCloseTo(high, 12);
  });

  it('holds the difference, lies between -1 and 1, and turns round with the sides', () => {
    const drawn = fc
      .integer({ min: 1, max: 2000 })
      .chain((people) => fc.nat({ max: people }).map((converted) => side(converted, people)));
    fc.assert(
      fc.property(drawn, drawn, (one, other) => {
        const found = newcombe(one, other);
        expect(found.low).toBeLessThanOrEqual(found.difference);
        expect(found.high).toBeGreaterThanOrEqual(found.difference);
        expect(found.low).toBeGreaterThanOrEqual(-1 - 1e-12);
        expect(found.high).toBeLessThanOrEqual(1 + 1e-12);
        const turned = newcombe(other, one);
        expect(turned.low).toBeCloseTo(-found.high, 12);
        expect(turned.high).toBeCloseTo(-found.low, 12);
      }),
    );
  });
});
