/** People of one side of a comparison, and those of them who converted. */
export interface Side {
  people: number;
  converted: number;
}

export interface DifferenceInterval {
  difference: number;
  low: number;
  high: number;
}

/** The quantile of the normal distribution for 95 %. */
const Z = 1.959963984540054;

/** Wilson's score interval of a proportion. */
function wilson({ people, converted }: Side): { low: number; high: number } {
  const rate = converted / people;
  const shrink = 1 + Z ** 2 / people;
  const centre = (rate + Z ** 2 / (2 * people)) / shrink;
  const half = (Z / shrink) * Math.sqrt((rate * (1 - rate)) / people + Z ** 2 / (4 * people ** 2));
  return { low: centre - half, high: centre + half };
}

/**
 * The difference of two independent proportions with Newcombe's 95 % interval: that of two Wilson
 * intervals (Newcombe 1998, method 10). Both sides have people.
 */
export function newcombe(treated: Side, control: Side): DifferenceInterval {
  const [one, other] = [treated.converted / treated.people, control.converted / control.people];
  const [first, second] = [wilson(treated), wilson(control)];
  const difference = one - other;
  return {
    difference,
    low: difference - Math.hypot(one - first.low, second.high - other),
    high: difference + Math.hypot(first.high - one, other - second.low),
  };
}
