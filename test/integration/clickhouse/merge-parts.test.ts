import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { mergeParts } from '../../../ops/rebuild/merge-parts.ts';
import { rows } from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';

const client = openClickhouse();
const table = `merge_parts_${process.pid}`;
const run = (query: string) => client.command({ query });

beforeAll(() => run(`CREATE TABLE ${table} (n UInt64) ENGINE = MergeTree ORDER BY n`));
afterAll(async () => {
  await run(`DROP TABLE ${table}`);
  await client.close();
});
beforeEach(async () => {
  await run(`TRUNCATE TABLE ${table}`);
  await run(`SYSTEM STOP MERGES ${table}`);
  for (const n of [1, 2, 3]) await run(`INSERT INTO ${table} VALUES (${n})`);
});

async function parts(): Promise<number> {
  const found = await rows<{ rows: string }>(
    client,
    'SELECT rows FROM system.parts WHERE active AND database = currentDatabase() AND table = {table:String} AND rows > 0',
    { table },
  );
  expect(found.reduce((sum, part) => sum + Number(part.rows), 0)).toBe(3);
  return found.length;
}

it('The parts of a table become one', async () => {
  await run(`SYSTEM START MERGES ${table}`);
  await mergeParts(client, { table, signal: AbortSignal.timeout(60_000) });
  expect(await parts()).toBe(1);
});

it('A server that cannot merge them is not waited for', async () => {
  await mergeParts(client, { table, signal: AbortSignal.timeout(60_000) });
  expect(await parts()).toBe(3);
});

it('A stop request ends the wait', async () => {
  const stopping = mergeParts(client, { table, signal: AbortSignal.abort(new Error('stopped')) });
  await expect(stopping).rejects.toThrow();
  expect(await parts()).toBeGreaterThan(0);
});
