import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { campaignPicture, type CampaignStats } from './campaign-picture.ts';

const GOAL = { event: 'order_completed', window_hours: 24 };
const UPLIFT = {
  ...{ treated_rate: 0.2961, control_rate: 0.0769, difference: 0.2192 },
  ...{ low: 0.0781, high: 0.3125, significant: true },
};
const STATS: CampaignStats = {
  ...{ planned: 191, sent: 131, failed: 4, withheld: 39, skipped: 17, in_flight: 0 },
  skipped_by_reason: { opted_out: 15, suppressed: 2 },
  failed_by_reason: { dead_address: 4 },
  ...{ opened: 98, clicked: 57, converted: 42 },
  uplift: UPLIFT,
};

const picture = (change: Partial<CampaignStats> = {}) =>
  campaignPicture({ ...STATS, ...change }, GOAL).map(stripVTControlCharacters);

describe('the picture of a campaign', () => {
  it('has the parts of the balance one after the other, the responses and the uplift', () => {
    expect(picture()).toEqual([
      'planned   ██████████████████████████████  191 100.0%',
      'sent      █████████████████████·········  131  68.6%',
      'failed    ·····················▏········    4   2.1%  dead_address 4',
      'withheld  ·····················██████···   39  20.4%  control group',
      'skipped   ···························███   17   8.9%  opted_out 15, suppressed 2',
      '',
      'opened    ██████████████████████░░░░░░░░   98  74.8%  of sent',
      'clicked   █████████████░░░░░░░░░░░░░░░░░   57  43.5%',
      'converted ██████████░░░░░░░░░░░░░░░░░░░░   42  32.1%',
      '',
      'uplift: order_completed within 24 h, with the campaign and without it',
      'treated   ██████████████████████████████       29.6%',
      'control   ████████░░░░░░░░░░░░░░░░░░░░░░        7.7%',
      '95 %      0······├────────────●────────┤',
      '          +21.9 points, from +7.8 to +31.3: significant',
    ]);
  });

  it('marks parts that are too short for a block, and shows what is still in flight', () => {
    const counts = { planned: 2000, sent: 1990, failed: 1, withheld: 0, skipped: 0, in_flight: 9 };
    expect(picture(counts).slice(2, 6)).toEqual([
      'failed    ·····························▏      1   0.1%  dead_address 4',
      'withheld  ······························      0   0.0%  control group',
      'skipped   ······························      0   0.0%  opted_out 15, …',
      'in flight ·····························▏      9   0.4%',
    ]);
  });

  it('shows where 0 is in an interval that holds it, or beside one', () => {
    const intervalOf = (low: number, difference: number, high: number) =>
      picture({ uplift: { ...UPLIFT, low, difference, high, significant: false } }).at(-2);
    expect(intervalOf(-0.1, 0.1, 0.2)).toBe('95 %      ├─────────┼────────●─────────┤');
    expect(intervalOf(-0.2, -0.15, -0.1)).toBe('95 %      ├──────●───────┤·············0');
    expect(intervalOf(-0.1, 0, 0.1)).toBe('95 %      ├──────────────●─────────────┤');
  });

  it('says so when there is nothing to show', () => {
    expect(picture({ planned: 0 })).toEqual(['nobody was planned']);
    expect(picture({ sent: 0, uplift: null }).at(-1)).toBe('no uplift: nobody was withheld');
  });

  it('fits 80 columns, whatever the counts are', () => {
    const count = fc.nat({ max: 4_000_000_000 });
    const reasons = fc.dictionary(
      fc.constantFrom('opted_out', 'dead_address', 'no_address'),
      count,
    );
    const rate = fc.double({ min: 0, max: 1, noNaN: true });
    const difference = fc.double({ min: -1, max: 1, noNaN: true });
    const stats = fc.record({
      ...{ sent: count, failed: count, withheld: count, skipped: count, in_flight: count },
      ...{ skipped_by_reason: reasons, failed_by_reason: reasons },
      ...{ opened: count, clicked: count, converted: count },
      uplift: fc.option(
        fc.record({
          ...{ treated_rate: rate, control_rate: rate, significant: fc.boolean() },
          edges: fc.tuple(difference, difference, difference),
        }),
      ),
    });
    fc.assert(
      fc.property(stats, ({ uplift, ...counts }) => {
        const { sent, failed, withheld, skipped, in_flight } = counts;
        const [low = 0, middle = 0, high = 0] = (uplift?.edges ?? []).toSorted((a, b) => a - b);
        const lines = picture({
          ...counts,
          planned: sent + failed + withheld + skipped + in_flight,
          uplift: uplift && { ...uplift, low, high, difference: middle },
        });
        for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
      }),
    );
  });
});
