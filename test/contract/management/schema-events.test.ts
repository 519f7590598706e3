import { expect, it } from 'vitest';
import { dayText, startOfTehranDay, tehranDay } from '../../../events/tehran-time.ts';
import { post } from '../../support/client.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { createAccount, eventually, readyStack } from '../../support/stack.ts';
import { call } from './host.ts';

const DAY = 86_400_000;
const client = openClickhouse();

it('GET /v1/schema/events lists the event names of 90 days by volume, with their keys and the last day in Tehran (management 2.4)', async () => {
  const account = await createAccount('schema');
  const now = Date.now();
  const item = (event: string, at: number, properties?: object) => ({
    type: 'track',
    event,
    user_id: 'u',
    timestamp: new Date(at).toISOString(),
    properties,
  });
  // The first moment of a day in Tehran, at 20:30 UTC of the day before.
  const evening = startOfTehranDay(tehranDay(now) - 10);
  const batch = [
    ...[
      item('often', now - 2 * DAY, { b: 1 }),
      item('often', now - 3 * DAY, { a: 1, b: 2 }),
      item('often', now - 4 * DAY),
    ],
    ...[item('evening', evening), item('evening', evening - 1, { price: 1 })],
    item('old', now - 91 * DAY, { x: 1 }),
  ];
  expect(
    (await post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, { batch })).status,
  ).toBe(200);
  const sql =
    'SELECT sum(count) AS count FROM event_catalogue FINAL WHERE account_id = {id:UInt64}';
  await eventually({ ms: 60_000, every: 1000, waitingFor: 'the catalogue' }, async () => {
    const result = await client.query({
      query: sql,
      query_params: { id: account.accountId },
      format: 'JSONEachRow',
    });
    return Number((await result.json<{ count: number }>())[0]?.count) === batch.length || undefined;
  });
  const { body } = await call('GET', '/v1/schema/events', { key: account.managementKey });
  const { events } = body as { events: unknown };
  expect(events).toEqual([
    {
      name: 'often',
      volume: 3,
      prop_keys: ['a', 'b'],
      last_seen: dayText(tehranDay(now - 2 * DAY)),
    },
    { name: 'evening', volume: 2, prop_keys: ['price'], last_seen: dayText(tehranDay(now) - 10) },
  ]);
});
