/** Conditions on events that stand together in a group are counted by one subquery. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compileCount } from '../../../audiences/compile.ts';
import { dayOf } from '../../../audiences/conditions/time-zone.ts';
import { readAudience } from '../../../audiences/read.ts';
import { eventCondition } from '../../../audiences/testing/definitions.ts';
import { isInAudience } from '../../../audiences/testing/model.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';
import { SqlParams } from '../../../platform/clickhouse/sql.ts';
import { drawnRuns } from '../../../platform/testing/drawn-runs.ts';
import { storedEvent } from '../reports/arbitraries.ts';
import { NOW } from './arbitraries.ts';
import { openPeopleWarehouse, type Account, type PeopleWarehouse } from './people-warehouse.ts';

/** AUDIENCE_SEED repeats a run. */
const SEED = Number(process.env['AUDIENCE_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const CASES = drawnRuns(600);

let warehouse: PeopleWarehouse;
beforeAll(async () => {
  warehouse = await openPeopleWarehouse('events_together');
});
afterAll(() => warehouse.close());

const plain = eventCondition.map((condition) => ({ ...condition, where: undefined }));
const group = fc
  .tuple(
    fc.constantFrom('all', 'any'),
    fc.array(fc.oneof({ weight: 2, arbitrary: plain }, eventCondition), {
      ...{ minLength: 2, maxLength: 5 },
    }),
  )
  .map(([kind, of]) => ({ [kind]: of }));

const DAY = 86_400_000;
const PEOPLE = 40;
const stored = fc.record({
  event: fc.constantFrom('a', 'b', 'order_completed'),
  // each third person has a second name
  user: fc.nat({ max: Math.floor((PEOPLE * 4) / 3) - 1 }),
  age: fc.constantFrom(DAY / 2, 3 * DAY, 20 * DAY, 60 * DAY),
  p: fc.constantFrom('x', 'y', undefined),
});

/** An account of which most people have a few events. */
function accountOf(events: readonly (typeof stored extends fc.Arbitrary<infer T> ? T : never)[]) {
  const person = {
    ...{ first_seen: NOW - 90 * DAY, last_seen: NOW, total_revenue: 0, order_count: 0 },
    ...{ last_order_at: undefined, traits: {}, trait_numbers: {}, columns: {} },
  };
  const names = Array.from({ length: PEOPLE }, (_, n) => `user-${n}`);
  return {
    people: new Map(names.map((name) => [name, person])),
    canonical: new Map(names.map((name, n) => [`user-${n + PEOPLE}`, name])),
    events: events.map(({ event, user, age, p }) =>
      storedEvent({
        ...{ event, user_id: `user-${user}`, timestamp: NOW - age, received_at: NOW },
        properties: p === undefined ? {} : { p },
      }),
    ),
    devices: [],
  } satisfies Account;
}

it(`the SQL and the model agree on ${CASES} drawn groups`, { timeout: 600_000 }, async () => {
  const drawn = fc.array(stored, { minLength: 3 * PEOPLE, maxLength: 3 * PEOPLE });
  const one = accountOf(fc.sample(drawn, { numRuns: 1, seed: SEED })[0] ?? []);
  await warehouse.load([one]);
  let [together, partly] = [0, 0];
  for (const [at, body] of fc.sample(group, { numRuns: CASES, seed: SEED }).entries()) {
    const read = readAudience(body);
    if (!read.ok) throw new Error(read.message);
    const { root } = read.audience;
    const params = new SqlParams();
    const today = dayOf(NOW, 'Asia/Tehran');
    const sql = compileCount(root, {
      ...{ accountId: 1, now: NOW, today, merges: 'table', params },
    });
    const result = await onAccount(warehouse.client, 1).query({
      ...{ query: sql, query_params: params.values(), format: 'JSONEachRow' },
      use_multipart_params_auto: true,
    });
    const [row] = await result.json<{ count: number }>();
    const reference = [...one.people].filter(([person, columns]) =>
      isInAudience(root, {
        ...{ person: columns, hasPush: false, now: NOW },
        events: one.events.filter(
          ({ user_id }) => (one.canonical.get(user_id) ?? user_id) === person,
        ),
      }),
    ).length;
    expect(row?.count, `seed ${SEED}, case ${at}: ${JSON.stringify(body)}`).toBe(reference);
    together += sql.includes('countIf(') ? 1 : 0;
    partly += reference > 0 && reference < PEOPLE ? 1 : 0;
  }
  // otherwise they would agree about nothing
  expect(together).toBeGreaterThan(CASES / 20);
  expect(partly).toBeGreaterThan(CASES / 20);
});
