import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post } from '../../support/client.ts';
import {
  admin,
  createAccount,
  eventually,
  readyStack,
  type TestAccount,
} from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { call } from './host.ts';

interface Item {
  id: number;
  status: string;
  rows?: number;
}

let account: TestAccount;
const database = openPostgres();
const folder = mkdtempSync(join(tmpdir(), 'ravand-fetch-'));
beforeAll(async () => {
  account = await createAccount('exports');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function order(body: object): Promise<number> {
  const { status, body: made } = await call('POST', '/v1/exports', {
    key: account.managementKey,
    body,
  });
  expect(status).toBe(202);
  return (made as Item).id;
}

async function ready(id: number): Promise<Item> {
  return eventually({ ms: 60_000, every: 500, waitingFor: `export ${id}` }, async () => {
    const { body } = await call('GET', '/v1/exports', { key: account.managementKey });
    return (body as { data: Item[] }).data.find((one) => one.id === id && one.status === 'ready');
  });
}

const fetchExport = (id: number, out: string) =>
  admin<{ rows: number; bytes: number; file: string }>(
    ...[
      'export',
      'fetch',
      '--account',
      String(account.accountId),
      '--id',
      String(id),
      '--out',
      out,
    ],
  );

describe('./ravand admin export fetch', () => {
  it('downloads the whole file of a finished export', async () => {
    const { ingest_url } = readyStack();
    const batch = Array.from({ length: 3 }, (_, n) => ({
      type: 'track',
      event: 'bought',
      user_id: `u${n}`,
      message_id: `fetch-${n}`,
      properties: { n },
    }));
    expect((await post(`${ingest_url}/v1/batch`, account.writeKey, { batch })).status).toBe(200);
    const found = await eventually(
      { ms: 60_000, every: 2000, waitingFor: 'an export of three rows' },
      async () => {
        const item = await ready(await order({ kind: 'events' }));
        return item.rows === 3 ? item : undefined;
      },
    );
    const out = join(folder, 'events.ndjson');
    expect(await fetchExport(found.id, out)).toMatchObject({
      rows: 3,
      file: out,
      bytes: readFileSync(out).length,
    });
    const lines = readFileSync(out, 'utf8').trim().split('\n');
    const ids = lines.map((line) => (JSON.parse(line) as { message_id: string }).message_id);
    expect(ids.sort()).toEqual(['fetch-0', 'fetch-1', 'fetch-2']);
    await expect(fetchExport(found.id, out)).rejects.toThrow('is there already');

    await database.query(
      "UPDATE exports SET expires_at = now() - interval '1 second' WHERE id = $1",
      [found.id],
    );
    await expect(fetchExport(found.id, join(folder, 'late'))).rejects.toThrow('has expired');
  });

  it('says why there is nothing to download', async () => {
    const id = await order({ kind: 'profiles', format: 'csv' });
    const set = (change: string) =>
      database.query(`UPDATE exports SET ${change} WHERE id = $1`, [id]);
    await ready(id);
    const out = join(folder, 'never');
    await set("status = 'running', due_at = now() + interval '1 hour'");
    await expect(fetchExport(id, out)).rejects.toThrow('is not ready: it is running');
    await set("status = 'failed', error = 'gave up'");
    await expect(fetchExport(id, out)).rejects.toThrow('failed: gave up');
    await set("status = 'ready', file = 'nowhere.csv'");
    await expect(fetchExport(id, out)).rejects.toThrow('there is no file');
    await expect(fetchExport(999_999_999, out)).rejects.toThrow('has no export');
    const stranger = await createAccount('another');
    await expect(
      admin('export', 'fetch', '--account', String(stranger.accountId), '--id', String(id)),
    ).rejects.toThrow('has no export');
  });
});
