import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventArraysByPerson } from '../../../account-api/reports/funnel/event-arrays.ts';
import { parseFunnel } from '../../../account-api/reports/funnel/request.ts';
import { tiedStates } from '../../../account-api/reports/funnel/ties-sql.ts';
import { nestedSelects, SqlParams } from '../../../platform/clickhouse/sql.ts';
import { EPOCH, storedEvent } from './arbitraries.ts';
import { openWarehouse, type Warehouse } from './warehouse.ts';

let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await openWarehouse('tied_states');
  const values = ['x', 'y', 'z'];
  const events = Array.from({ length: 400 }, (_, at) =>
    storedEvent({
      event: at % 3 === 0 ? 'b' : 'a',
      user_id: 'u',
      ...{ timestamp: EPOCH, received_at: EPOCH, _offset: at },
      properties: { p: values[at % 3] ?? '', ...(at % 2 === 0 ? { q: '1' } : {}) },
    }),
  );
  await warehouse.load([{ events, canonical: new Map(), people: new Map() }]);
});
afterAll(() => warehouse.close());

const [a, b] = [{ event: 'a' }, { event: 'b' }];
const ay = { event: 'a', filters: [{ property: 'p', op: 'eq', value: 'y' }] };
const aq = { event: 'a', filters: [{ property: 'q', op: 'is_set' }] };

test.each<[string, object[]]>([
  ['of one condition', Array<object>(12).fill(a)],
  ['of two conditions in turns', [a, b, a, b, a, b, a, b, a, b, a, b]],
  ['of nested conditions', [a, ay, a, ay, a, ay, b, a, ay, b, a, ay]],
  ['of conditions that overlap in part', [a, ay, aq, a, ay, aq, b, a, ay, aq, b, a]],
])(
  'four hundred events at one midnight and twelve steps %s lead to fewer than 150 states of 4,096',
  async (_, steps) => {
    const parsed = parseFunnel({ steps, from: '2026-09-01', to: '2026-10-01' });
    if (!parsed.ok) throw new Error(parsed.problem.message);
    const params = new SqlParams();
    const { request } = parsed;
    const context = { request, params, accountId: 1, merges: 'none' as const };
    const events = eventArraysByPerson(context, { hasTieBreakers: true });
    const folded = nestedSelects(events, [['es.1 AS ks'], ...tiedStates(context)]);
    const result = await warehouse.client.query({
      query: `SELECT max(states) AS states, max(tied_depth) AS depth FROM (${folded})`,
      query_params: params.values(),
      format: 'JSONEachRow',
    });
    const [row] = await result.json<{ states: number; depth: number }>();
    expect(row?.depth).toBe(12);
    expect(row?.states).toBeLessThan(150);
  },
);
