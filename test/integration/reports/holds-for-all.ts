import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { Dataset } from '../../../account-api/reports/testing/dataset.ts';
import { FULL } from '../../support/stack.ts';
import type { Warehouse } from './warehouse.ts';
import { eachShard } from '../../../platform/clickhouse/shards.ts';

export interface Case {
  body: unknown;
  dataset: Dataset;
}

interface Sides {
  warehouse: Warehouse;
  cases: fc.Arbitrary<Case>;
  bySql: (account: number, one: Case) => Promise<unknown>;
  byReference: (one: Case) => unknown;
  /** Whether an answer counts something: if none did, the test would say nothing. */
  isTelling: (answer: string) => boolean;
  /** Cases to draw where those of the other properties would take long. */
  runs?: number;
}

/** Cases of one property; REPORT_CASES sets another number, REPORT_SEED repeats a run. */
const CASES = FULL ? 25 : 8;
const IN_FLIGHT = 2;
/** Rare shapes may draw no case that counts anything; then others are drawn, so many times. */
const MAX_DRAWS = 5;

/**
 * Draws many cases, loads all of them at once, each under an account of its own, and answers the
 * first one where the two sides differ, made smaller by leaving out events one after the other;
 * undefined when there is none.
 */
export async function holdsForAll(sides: Sides): Promise<unknown> {
  const seed = Number(process.env['REPORT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const { failure, telling } = await holdsForDrawn(sides, seed + draw);
    if (failure || telling > 0) return failure;
  }
  return `no case counts anything, in ${MAX_DRAWS} draws from seed ${seed} on`;
}

async function holdsForDrawn(
  sides: Sides,
  seed: number,
): Promise<{ failure: unknown; telling: number }> {
  const { warehouse, bySql, byReference } = sides;
  const runs = Number(process.env['REPORT_CASES'] ?? sides.runs ?? CASES);
  const cases = fc.sample(sides.cases, { numRuns: runs, seed });
  await emptied(warehouse);
  await warehouse.load(cases.map(({ dataset }) => dataset));
  const failed: Case[] = [];
  let telling = 0;
  const queue = cases.entries();
  const work = async (): Promise<void> => {
    for (const [at, one] of queue) {
      if (failed.length > 0) return;
      const [sql, reference] = [await bySql(at + 1, one), byReference(one)];
      if (sides.isTelling(JSON.stringify(reference))) telling++;
      if (!isDeepStrictEqual(sql, reference)) failed.push(one);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  const first = failed[0];
  if (!first) return { failure: undefined, telling };
  const smallest = await smaller(sides, first);
  await reload(warehouse, smallest);
  const failure = {
    seed,
    body: JSON.stringify(smallest.body),
    events: smallest.dataset.events.map((event) => JSON.stringify(essence(event))),
    canonical: [...smallest.dataset.canonical],
    people: [...smallest.dataset.people],
    sql: JSON.stringify(await bySql(1, smallest)),
    reference: JSON.stringify(byReference(smallest)),
  };
  return { failure, telling };
}

/**
 * Leaves out runs of events, halves first and single ones last, for as long as the sides still
 * differ.
 */
async function smaller(sides: Sides, start: Case): Promise<Case> {
  let best = start;
  for (
    let size = Math.ceil(best.dataset.events.length / 2);
    size >= 1;
    size = Math.floor(size / 2)
  ) {
    for (let at = 0; at < best.dataset.events.length;) {
      const events = best.dataset.events.filter((_, index) => index < at || index >= at + size);
      const candidate = { ...best, dataset: { ...best.dataset, events } };
      await reload(sides.warehouse, candidate);
      if (isDeepStrictEqual(await sides.bySql(1, candidate), sides.byReference(candidate)))
        at += size;
      else best = candidate;
    }
  }
  return best;
}

async function reload(warehouse: Warehouse, one: Case): Promise<void> {
  await emptied(warehouse);
  await warehouse.load([one.dataset]);
}

async function emptied({ client }: Warehouse): Promise<void> {
  for (const table of ['events', 'identities_flat', 'people'])
    for (const shard of eachShard(client))
      await shard.command({ query: `TRUNCATE TABLE ${table}` });
}

/** An event without its empty columns. */
function essence(event: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(event).filter(
      ([, value]) =>
        value !== '' && value !== 0 && value !== false && JSON.stringify(value) !== '{}',
    ),
  );
}
