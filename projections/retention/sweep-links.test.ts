import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { storeLinks } from '../../messaging/links/short-link-store.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { sweepLinks } from './sweep-links.ts';

let postgres: MigratedDatabase;
const { signal } = new AbortController();

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0014', '0069']);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await postgres.database.query('TRUNCATE short_links, short_link_limits, accounts CASCADE');
  await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')");
});

const add = (
  accountId: number,
  { days, count, parameter = 'sg_mid=c1.2.' }: { days: number; count: number; parameter?: string },
) =>
  postgres.database.query(
    `INSERT INTO short_links (code, account_id, target, created_at)
     SELECT lpad(($1::int * 1000000 + ($2::int % 10) * 10000 + n)::text, 7, '0'), $1, 'https://x.ir/?' || $4 || n, now() - make_interval(days => $2::int)
     FROM generate_series(1, $3::int) AS n`,
    [accountId, days, count, parameter],
  );
const counts = async () => {
  const { rows } = await postgres.database.query<{ account_id: number; links: number }>(
    'SELECT account_id::int, count(*)::int AS links FROM short_links GROUP BY 1 ORDER BY 1',
  );
  return rows;
};
const link = (code: string) => ({ code, target: `https://shop.ir/?sg_mid=${code}` });

it('short links are kept as long as tokens are valid, 400 days, and removed afterwards', async () => {
  await add(1, { days: 402, count: 5001 });
  await add(1, { days: 400, count: 1 });
  await add(2, { days: 402, count: 3 });
  await add(2, { days: 1, count: 2 });
  expect(await sweepLinks(postgres.database, { signal })).toBe(5004);
  expect(await sweepLinks(postgres.database, { signal })).toBe(0);
  expect(await counts()).toEqual([
    { account_id: 1, links: 1 },
    { account_id: 2, links: 2 },
  ]);
});

it('links that an operator made stay, and are never too many', async () => {
  await add(1, { days: 402, count: 3, parameter: 'page=' });
  await add(1, { days: 1, count: 2 });
  expect(await sweepLinks(postgres.database, { signal, max: 3 })).toBe(0);
  expect(await storeLinks(postgres.database, 1, [link('AAAAAAD')])).toEqual(['created']);
  expect(await sweepLinks(postgres.database, { signal, max: 3 })).toBe(0);
  const own = { code: 'AAAAAAC', target: 'https://shop.ir/yalda' };
  expect(await storeLinks(postgres.database, 1, [own, link('AAAAAAA')])).toEqual([
    'created',
    'taken',
  ]);
});

it('an account with as many links as one may have stores no more, others do, until older ones go', async () => {
  await add(1, { days: 1, count: 4 });
  await add(2, { days: 1, count: 3 });
  await sweepLinks(postgres.database, { signal, max: 4 });
  expect(await storeLinks(postgres.database, 1, [link('AAAAAAA')])).toEqual(['taken']);
  expect(await storeLinks(postgres.database, 2, [link('AAAAAAB')])).toEqual(['created']);
  await postgres.database.query(
    "UPDATE short_links SET created_at = now() - interval '402 days' WHERE account_id = 1",
  );
  await sweepLinks(postgres.database, { signal, max: 4 });
  expect(await storeLinks(postgres.database, 1, [link('AAAAAAA')])).toEqual(['created']);
});

it('a link that is stored already stays known when the account may store no more', async () => {
  await storeLinks(postgres.database, 1, [link('AAAAAAA')]);
  await sweepLinks(postgres.database, { signal, max: 1 });
  expect(await storeLinks(postgres.database, 1, [link('AAAAAAA'), link('AAAAAAB')])).toEqual([
    'known',
    'taken',
  ]);
});
