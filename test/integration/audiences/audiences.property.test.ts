import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BANDS, METRICS } from '../../../audiences/attributes.ts';
import { compileCount } from '../../../audiences/compile.ts';
import { isInAudience } from '../../../audiences/testing/model.ts';
import { readAudience } from '../../../audiences/read.ts';
import { dayOf } from '../../../audiences/conditions/time-zone.ts';
import { SqlParams } from '../../../platform/clickhouse/sql.ts';
import { storedEvent } from '../reports/arbitraries.ts';
import { definition } from '../../../audiences/testing/definitions.ts';
import { account, NOW } from './arbitraries.ts';
import { openPeopleWarehouse, type Account, type PeopleWarehouse } from './people-warehouse.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';
import { drawnRuns } from '../../../platform/testing/drawn-runs.ts';

const DAY = 86_400_000;

/** AUDIENCE_CASES raises the number of cases for a long run, AUDIENCE_SEED repeats one. */
const CASES = Number(process.env['AUDIENCE_CASES'] ?? drawnRuns(600));
const SEED = Number(process.env['AUDIENCE_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

let warehouse: PeopleWarehouse;
beforeAll(async () => {
  warehouse = await openPeopleWarehouse('audiences_test');
});
afterAll(() => warehouse.close());

function rootOf(body: unknown) {
  const outcome = readAudience(body);
  if (!outcome.ok)
    throw new Error(
      `the test made an invalid definition: ${outcome.message} ${JSON.stringify(body)}`,
    );
  return outcome.audience.root;
}

async function countBySql(body: unknown, accountId: number): Promise<number> {
  const params = new SqlParams();
  const query = compileCount(rootOf(body), {
    accountId,
    now: NOW,
    today: dayOf(NOW, 'Asia/Tehran'),
    merges: 'table',
    params,
  });
  const result = await onAccount(warehouse.client, accountId).query({
    query,
    query_params: params.values(),
    format: 'JSONEachRow',
    use_multipart_params_auto: true,
  });
  const [row] = await result.json<{ count: number }>();
  return row?.count ?? -1;
}

function countByReference(body: unknown, { people, canonical, events, devices }: Account): number {
  const root = rootOf(body);
  const isOf = (person: string, name: string) => (canonical.get(name) ?? name) === person;
  return [...people].filter(([person, row]) =>
    isInAudience(root, {
      person: row,
      events: events.filter((event) => isOf(person, event.user_id)),
      hasPush: devices.some(({ name, active }) => active && isOf(person, name)),
      now: NOW,
    }),
  ).length;
}

describe('the SQL of audiences on the real ClickHouse and the model', () => {
  it(`agree on ${CASES} drawn definitions and accounts`, { timeout: 600_000 }, async () => {
    const cases = fc.sample(fc.record({ body: definition, account }), {
      numRuns: CASES,
      seed: SEED,
    });
    await warehouse.load(cases.map((one) => one.account));
    const differing: unknown[] = [];
    let counted = 0;
    for (const [at, { body, account: one }] of cases.entries()) {
      const [sql, reference] = [await countBySql(body, at + 1), countByReference(body, one)];
      counted += reference;
      if (sql !== reference)
        differing.push({
          seed: SEED,
          case: at,
          body: JSON.stringify(body),
          sql,
          reference,
          people: [...one.people],
        });
    }
    expect(differing.slice(0, 2)).toEqual([]);
    // Definitions that nobody fits would agree about nothing.
    expect(counted).toBeGreaterThan(CASES / 4);
  });

  it('agree at the boundary of every window', async () => {
    const edges = [7, 14, 30, 60, 90].flatMap((days) => [
      days * DAY - 1,
      days * DAY,
      days * DAY + 1,
    ]);
    const accounts = edges.map((age): Account => {
      const person = {
        first_seen: NOW - age,
        last_seen: NOW - age,
        total_revenue: 0,
        order_count: 0,
        last_order_at: undefined,
        traits: {},
        trait_numbers: {},
        columns: {},
      };
      const event = storedEvent({
        event: 'order_completed',
        user_id: 'u',
        timestamp: NOW - age,
        received_at: NOW,
        session_id: 's',
        revenue: 1,
      });
      return {
        people: new Map([['u', person]]),
        canonical: new Map(),
        events: [event],
        devices: [],
      };
    });
    const bodies = [
      ...[7, 14, 30, 60, 90].map((days) => ({ event: 'order_completed', within_days: days })),
      ...Object.keys(METRICS).map((name) => ({ engagement: name, op: 'gt', value: 0 })),
      ...BANDS.map((band) => ({ engagement: band })),
    ];
    await warehouse.load(accounts);
    for (const body of bodies)
      for (const [at, one] of accounts.entries())
        expect([body, edges[at], await countBySql(body, at + 1)]).toEqual([
          body,
          edges[at],
          countByReference(body, one),
        ]);
  });

  it('accept a list of a thousand values and two hundred conditions', async () => {
    const list = Array.from({ length: 1000 }, (_, at) => `value ${at} ${'ی'.repeat(40)}`);
    expect(await countBySql({ trait: 'x', op: 'in', value: list }, 1)).toBe(0);
    const conditions = Array.from({ length: 200 }, (_, at) => ({
      trait: `x${at}`,
      op: 'in',
      value: ['a', at],
    }));
    expect(await countBySql({ any: conditions }, 1)).toBe(0);
  });
});
