import { afterAll, beforeAll, expect, it } from 'vitest';
import { post } from '../../support/client.ts';
import {
  createAccount,
  eventually,
  ravand,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';

const SUFFIX = 'counts_test';
const TABLE = `ingest_quality_${SUFFIX}`;
const client = openClickhouse();
let account: TestAccount;

beforeAll(async () => {
  account = await createAccount('rebuilt quality');
  await client.command({ query: `DROP TABLE IF EXISTS ${TABLE} SYNC` });
});
afterAll(async () => {
  await client.command({ query: `DROP TABLE IF EXISTS ${TABLE} SYNC` });
});

const counts = (table: string) =>
  rows<{ kind: string; code: string; count: string }>(
    client,
    `SELECT kind, code, sum(count) AS count FROM ${table} FINAL WHERE account_id = {a:UInt64} GROUP BY ALL ORDER BY ALL`,
    { a: account.accountId },
  );

it('a rebuild of the quality counts has what the live table has, and says how many rows it wrote', async () => {
  const batch = [
    { type: 'track', event: 'x', user_id: 'u' },
    { type: 'track', event: 'x', user_id: '' },
    { type: 'track', event: '', user_id: 'u' },
  ];
  expect(
    (await post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, { batch })).status,
  ).toBe(200);
  const live = await eventually({ ms: 30_000, waitingFor: 'rejects and a warning' }, async () => {
    const found = await counts('ingest_quality');
    return found.length >= 3 ? found : undefined;
  });
  const report = await eventually(
    { ms: 60_000, every: 1000, waitingFor: 'them rebuilt' },
    async () => {
      const text = await ravand('rebuild', 'quality', '--into', SUFFIX, '--json');
      // It reads up to the commits of quality-sink, which come after its rows.
      return (await counts(TABLE)).length === live.length
        ? (JSON.parse(text) as { records: number; rows: number })
        : undefined;
    },
  );
  expect(await counts(TABLE)).toEqual(live);
  const [stored] = await rows<{ n: string }>(client, `SELECT count() AS n FROM ${TABLE} FINAL`, {});
  expect(report.rows).toBeGreaterThanOrEqual(Number(stored?.n));
});
