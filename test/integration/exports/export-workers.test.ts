import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ExportStore } from '../../../account-api/exports/export-store.ts';
import { expireExports, removeOrphans } from '../../../account-api/exports/sweep.ts';
import { runExportWorkers } from '../../../account-api/exports/worker.ts';
import { segmentStore } from '../../../account-api/segments/segment-store.ts';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { folderFiles } from '../../../platform/files/folder-files.ts';
import { createLog } from '../../../platform/log.ts';
import { migratePostgres } from '../../../platform/postgres/migrate.ts';
import { connectPostgres, type Database } from '../../../platform/postgres/pool.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { ddlFolders } from '../../../projections/ddl-folders.ts';
import { eventually } from '../../support/stack.ts';
import { startOwnServers, type OwnServers } from '../sink/own-servers.ts';

const checkout = join(import.meta.dirname, '../../..');
const log = createLog({ part: 'test', level: 'silent' });
const folder = mkdtempSync(join(tmpdir(), 'ravand-export-workers-'));
const files = folderFiles(folder);
const DRAFT = { kind: 'events', format: 'ndjson', spec: {} } as const;

let servers: OwnServers;
let database: Database;
let store: ExportStore;
beforeAll(async () => {
  servers = await startOwnServers();
  const settings = parseSettings(clickhouseSettings, { CLICKHOUSE_URL: servers.clickhouse.url });
  await migrateClickhouse(settings, ddlFolders());
  database = connectPostgres({ url: servers.postgres.url, log, name: 'test', max: 4 });
  await migratePostgres(database, join(checkout, 'deploy/migrations/postgres'));
  store = new ExportStore(database);
  await database.query(
    "INSERT INTO accounts (id, name) SELECT n, 'x' FROM generate_series(1, 9) AS n",
  );
});
beforeEach(async () => {
  await database.query('DELETE FROM exports');
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
});
afterAll(async () => {
  await database.end();
  await servers.close();
  rmSync(folder, { recursive: true, force: true });
});

const create = (account: number) => store.create(account, { draft: DRAFT, actor: 'key:1' });
const finish = (job: NonNullable<Awaited<ReturnType<typeof store.claim>>>) =>
  store.finish(job, { rows: 0, bytes: 100, file: `export-${job.id}-${job.attempt}.ndjson` });
const statuses = async () =>
  (
    await database.query<{ status: string; error: string | null; failures: number }>(
      'SELECT status, error, failures FROM exports ORDER BY id',
    )
  ).rows;

describe('the jobs of accounts', () => {
  it('are at most ten open ones an account, also of concurrent requests, each with a line of audit', async () => {
    await database.query('DELETE FROM audit_lines');
    const made = await Promise.all(Array.from({ length: 24 }, () => create(1)));
    expect(made.filter((one) => one !== undefined)).toHaveLength(10);
    expect(await create(2)).toBeDefined();
    const { rows } = await database.query(
      'SELECT account_id::integer, actor, action, details FROM audit_lines ORDER BY account_id',
    );
    const line = (account_id: number) => ({
      ...{ account_id, actor: 'key:1', action: 'export.created' },
      details: { export_id: expect.any(Number) as number, kind: 'events', format: 'ndjson' },
    });
    expect(rows).toEqual([...Array.from({ length: 10 }, () => line(1)), line(2)]);
    const job = await store.claim();
    if (job) await finish(job);
    expect(await create(job?.accountId ?? 0)).toBeDefined();
  });

  it('take turns: at most one of an account runs, and the account served longest ago is next', async () => {
    for (const account of [1, 1, 2, 2, 3]) await create(account);
    const jobs = [await store.claim(), await store.claim(), await store.claim()];
    expect(jobs.map((job) => job?.accountId)).toEqual([1, 2, 3]);
    expect(await store.claim()).toBeUndefined();
    const order: number[] = [];
    for (let running = jobs.flatMap((job) => job ?? []); running.length > 0;) {
      const job = running.shift();
      if (!job) break;
      await finish(job);
      if (order.length < 9) await create(job.accountId);
      const next = await store.claim();
      if (next) {
        running = [...running, next];
        order.push(next.accountId);
      }
    }
    for (let at = 3; at <= order.length; at++) {
      const turns = [1, 2].map((account) => order.slice(0, at).filter((one) => one === account));
      expect(Math.abs((turns[0]?.length ?? 0) - (turns[1]?.length ?? 0))).toBeLessThanOrEqual(1);
    }
  });

  it('count no attempt when their worker stops, and one when it dies', async () => {
    await create(1);
    for (let stop = 0; stop < 5; stop++) {
      const job = await store.claim();
      expect(job?.failures).toBe(0);
      if (job) await store.release(job, { delay: 0, isFailure: false });
    }
    await store.claim();
    await database.query('UPDATE exports SET due_at = clock_timestamp()');
    const again = await store.claim();
    expect(again?.failures).toBe(1);
    if (again) await store.release(again, { delay: 0, isFailure: true });
    expect((await statuses())[0]).toMatchObject({ status: 'queued', failures: 2 });
  });
});

describe('the files of exports', () => {
  it('are removed before their export is marked: a crash in between leaves nothing that stays', async () => {
    await create(1);
    const job = await store.claim();
    if (!job) throw new Error('no job');
    await finish(job);
    const file = join(folder, `export-${job.id}-1.ndjson`);
    writeFileSync(file, 'personal data');
    await database.query("UPDATE exports SET expires_at = now() - interval '1 second'");
    const dying = {
      ...files,
      async remove(name: string) {
        await files.remove(name);
        await servers.postgres.kill();
      },
    };
    await expect(expireExports({ store, files: dying, log })).rejects.toThrow();
    await servers.postgres.start();
    await eventually({ ms: 30_000, waitingFor: 'PostgreSQL' }, async () => {
      expect((await statuses())[0]?.status).toBe('ready');
      return true;
    });
    writeFileSync(file, 'personal data that an older version left');
    await expireExports({ store, files, log });
    expect([existsSync(file), (await statuses())[0]?.status]).toEqual([false, 'expired']);
  });

  it('that no export has are removed at the start, and no others', async () => {
    await create(1);
    await create(2);
    const [ready, running] = [await store.claim(), await store.claim()];
    if (!ready || !running) throw new Error('no jobs');
    await finish(ready);
    const kept = [`export-${ready.id}-1.ndjson`, `export-${running.id}-1.ndjson.part`, 'notes.txt'];
    const orphans = [
      `export-${ready.id}-0.ndjson`,
      `export-${running.id}-0.ndjson.part`,
      'export-999-1.csv',
    ];
    for (const name of [...kept, ...orphans]) writeFileSync(join(folder, name), 'x');
    await removeOrphans({ store, files, log });
    expect(readdirSync(folder).sort()).toEqual(kept.sort());
  });

  it('have a limit per account: a job beyond it fails with the reason, and its file is removed', async () => {
    const client = connectClickhouse({
      settings: parseSettings(clickhouseSettings, { CLICKHOUSE_URL: servers.clickhouse.url }),
      name: 'test',
    });
    const now = new Date().toISOString();
    await client.insert({
      table: 'events',
      values: Array.from({ length: 50 }, (_, n) => ({
        ...{ account_id: 3, event: '=cmd()', user_id: '+989121234567', message_id: `m${n}` },
        ...{ timestamp: now, received_at: now },
      })),
      format: 'JSONEachRow',
    });
    const stop = new AbortController();
    const run = (maxAccountBytes: number, maxRunMs = 60_000) =>
      runExportWorkers({
        ...{ workers: 2, store, files, log, signal: stop.signal },
        tools: {
          ...{ client, files, segments: segmentStore(database), maxRunMs },
          limits: () => Promise.resolve({}),
          kill: () => undefined,
          mergesOf: () => Promise.resolve('none' as const),
          fileLimits: { maxAccountBytes, minFreeBytes: 0 },
        },
      });
    const ended = async (id: number) =>
      eventually({ ms: 60_000, every: 100, waitingFor: `export ${id}` }, async () =>
        (await store.list(3, 10)).find(
          (one) => one.id === id && ['ready', 'failed'].includes(one.status),
        ),
      );
    const csv = { ...DRAFT, format: 'csv' } as const;
    const first = await store.create(3, { draft: csv, actor: 'key:1' });
    const second = await store.create(3, { draft: DRAFT, actor: 'key:1' });
    const working = run(30_000);
    expect(await ended(first?.id ?? 0)).toMatchObject({ status: 'ready', rows: 50 });
    expect(await ended(second?.id ?? 0)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('would exceed 30000 bytes') as string,
    });
    const left = readdirSync(folder);
    expect(left).toHaveLength(1);
    const cells = (await files.read(left[0] ?? '')).setEncoding('utf8');
    const [, row = ''] = (await cells.toArray()).join('').split('\n');
    expect(row).toContain(`"'=cmd()"`);
    expect(row).toContain('"+989121234567"');
    stop.abort();
    await working;
    await client.close();
  });
});
