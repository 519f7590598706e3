import { expect, it } from 'vitest';
import { controlGroupSql, isInControlGroup } from './control-group.ts';

const people = Array.from({ length: 20_000 }, (_, at) => `person-${at}`);
const members = (campaignId: number, percent: number, of = people) =>
  of.filter((person) => isInControlGroup({ campaignId, percent }, person));

it('withholds a share of people that is within four standard deviations of the percentage', () => {
  for (const percent of [1, 10, 33.5, 50]) {
    const share = percent / 100;
    const deviation = Math.sqrt(people.length * share * (1 - share));
    const difference = Math.abs(members(7, percent).length - people.length * share);
    expect(difference).toBeLessThan(4 * deviation);
  }
});

it('withholds nobody at 0 percent', () => {
  expect(members(7, 0)).toEqual([]);
  expect(controlGroupSql({ campaignId: 7, percent: 0 }, 'person')).toBe('false');
});

it('keeps the members of a smaller group when the percentage rises', () => {
  const smaller = members(7, 10);
  expect(members(7, 30, smaller)).toEqual(smaller);
});

it('chooses independent groups for two campaigns', () => {
  const both = members(8, 50, members(7, 50)).length / people.length;
  expect(both).toBeGreaterThan(0.23);
  expect(both).toBeLessThan(0.27);
});

it('assigns known people as it always has', () => {
  const first = people.filter((person) => isInControlGroup({ campaignId: 3, percent: 20 }, person));
  expect(first.slice(0, 5)).toMatchInlineSnapshot(`
    [
      "person-19",
      "person-22",
      "person-32",
      "person-35",
      "person-36",
    ]
  `);
});
