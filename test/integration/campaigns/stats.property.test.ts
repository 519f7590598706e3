import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { peopleModel } from '../../../account-api/campaigns/stats/testing/model.ts';
import { FULL } from '../../support/stack.ts';
import { OWN, START, statsCase } from './arbitraries.ts';
import { openStatsDatabase, type StatsDatabase } from './stats-database.ts';

const CASES = FULL ? 400 : 120;

let database: StatsDatabase;
beforeAll(async () => {
  database = await openStatsDatabase('campaign_stats');
});
afterAll(() => database.close());

it('the SQL of stats and the reference agree about who opened, clicked and converted', async () => {
  const seed = Number(process.env['REPORT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const cases = fc.sample(statsCase, { numRuns: CASES, seed });
  await database.load(cases.map(({ dataset }) => dataset));
  const telling = {
    ...{ opened: 0, clicked: 0, converted: 0 },
    ...{ treated_converted: 0, control_converted: 0 },
  };
  for (const [at, one] of cases.entries()) {
    const { runs, parts, dataset } = one;
    const expected = peopleModel(dataset, { campaignId: OWN, runs });
    const merges = dataset.canonical.size > 0 ? 'table' : 'none';
    const of = { accountId: at + 1, campaignId: OWN, runs, merges, now: START } as const;
    const found = await database.count(of, parts);
    if (!isDeepStrictEqual(found, expected))
      expect({ seed, at, one, found }).toEqual({ seed, at, one, found: expected });
    for (const figure of Object.keys(telling) as (keyof typeof telling)[])
      telling[figure] += Number(expected[figure] > 0);
  }
  for (const count of Object.values(telling)) expect(count).toBeGreaterThan(5);
}, 600_000);
