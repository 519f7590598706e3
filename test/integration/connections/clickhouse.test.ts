import type { ClickHouseClient } from '@clickhouse/client';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  compileState,
  readState,
  type StateRow,
} from '../../../account-api/reports/cache/data-state.ts';
import {
  MIGRATIONS_USER,
  REPORTS_USER,
  SERVICES_USER,
  urlOfUser,
} from '../../../deploy/local/server-passwords.ts';
import {
  createShadowTable,
  dropShadowTable,
  renameShadowTable,
} from '../../../ops/jobs/shadow-table.ts';
import { connectClickhouse, type ClickhouseSettings } from '../../../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { readResultBytes } from '../../../platform/clickhouse/result-bytes.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { ddlFolders } from '../../../projections/ddl-folders.ts';
import { clickhouseProfiles } from '../../../projections/profiles/store.ts';
import { makeAuthority, type Authority } from '../../support/connections/certificates.ts';
import { TlsProxy } from '../../support/connections/tls-proxy.ts';
import { startOwnClickhouse } from '../sink/own-servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'ravand-clickhouse-tls-'));
const opened: { close(): Promise<void> | void }[] = [];
let authority: Authority;
let server: Awaited<ReturnType<typeof startOwnClickhouse>>;
let url: URL;

beforeAll(async () => {
  authority = makeAuthority(folder);
  server = await startOwnClickhouse();
  url = new URL(server.url);
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const proxy = async (port?: number) => {
  const made = await TlsProxy.start(authority, Number(url.port), port);
  opened.push(made);
  return made;
};
/** A client of several hosts, which a request of `requestTimeout` ms may have to pass. */
const settingsOf = (
  hosts: readonly { port: number }[],
  env: Readonly<Record<string, string>> = {},
): ClickhouseSettings => {
  const { cert, key } = authority.issue('client');
  const list = hosts.map(({ port }) => `localhost:${port}`).join(',');
  return parseSettings(clickhouseSettings, {
    CLICKHOUSE_URL: `https://${url.username}:${url.password}@${list}`,
    ...{ CLICKHOUSE_TLS_CA_FILE: authority.ca, CLICKHOUSE_TLS_CERT_FILE: cert },
    ...{ CLICKHOUSE_TLS_KEY_FILE: key, ...env },
  });
};
const clientOf = (
  hosts: readonly { port: number }[],
  env: Readonly<Record<string, string>> = {},
): ClickHouseClient => {
  const settings = settingsOf(hosts, env);
  const client = connectClickhouse({ settings, name: 'test', database: '', requestTimeout: 1000 });
  opened.push(client);
  return client;
};
const ask = async (client: ClickHouseClient): Promise<number | undefined> => {
  const answer = await client.query({ query: 'SELECT 1 AS one', format: 'JSONEachRow' });
  return (await answer.json<{ one: number }>())[0]?.one;
};

describe('ClickHouse behind TLS', () => {
  it('is asked with a client certificate, and verified with its authority', async () => {
    const one = await proxy();
    expect(await ask(clientOf([one]))).toBe(1);
    const { ca } = makeAuthority(folder, 'other');
    await expect(ask(clientOf([one], { CLICKHOUSE_TLS_CA_FILE: ca }))).rejects.toThrow(
      /self-signed certificate|unable to verify/,
    );
    const without = { CLICKHOUSE_TLS_CERT_FILE: '', CLICKHOUSE_TLS_KEY_FILE: '' };
    await expect(ask(clientOf([one], without))).rejects.toThrow(/certificate required|ECONNRESET/);
  });
});

describe('with several hosts', () => {
  it('a client uses the first one, and the next one while that is down', async () => {
    const [first, second] = [await proxy(), await proxy()];
    const client = clientOf([first, second]);
    expect(await ask(client)).toBe(1);
    expect([first.connections, second.connections]).toEqual([1, 0]);
    first.close();
    // the connection that was kept open is lost with it
    await ask(client).catch(() => undefined);
    for (let n = 0; n < 5; n++) expect(await ask(client)).toBe(1);
    expect(second.connections).toBeGreaterThan(0);
  });

  it('a client leaves a host that accepts connections and answers nothing', async () => {
    const [first, second] = [await proxy(), await proxy()];
    first.isFrozen = true;
    const client = clientOf([first, second]);
    await expect(ask(client)).rejects.toThrow(/Timeout/);
    expect(await ask(client)).toBe(1);
    expect(second.connections).toBe(1);
  });

  it('a request fails with the reason when no host answers', async () => {
    const [first, second] = [await proxy(), await proxy()];
    first.close();
    second.close();
    await expect(ask(clientOf([first, second]))).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe('a large result', () => {
  const NUMBERS = 'SELECT number FROM numbers({rows:Int64}) FORMAT RowBinary';
  const read = async (
    settings: ClickhouseSettings,
    { sql = NUMBERS, rows = 2_000_000, signal = AbortSignal.timeout(60_000) } = {},
  ) => {
    let [bytes, sum] = [0, 0];
    const statement = {
      ...{ accountId: 1, application: 'test', queryId: randomUUID(), settings: {}, signal },
      ...{ sql, params: sql.includes('{rows') ? { rows } : {} },
    };
    await readResultBytes({ ...settings, CLICKHOUSE_DATABASE: 'default' }, statement, (piece) => {
      for (let at = (8 - (bytes % 8)) % 8; at < piece.length; at += 8) sum += piece[at] ?? 0;
      bytes += piece.length;
    });
    return { bytes, sum };
  };
  /** Of the lowest bytes of so many numbers. */
  const sumOf = (rows: number) =>
    Math.floor(rows / 256) * 32_640 + ((rows % 256) * ((rows % 256) - 1)) / 2;

  it('comes whole and in order, with TLS and without', async () => {
    const expected = { bytes: 16_000_000, sum: sumOf(2_000_000) };
    expect(await read(settingsOf([await proxy()]))).toEqual(expected);
    const plain = parseSettings(clickhouseSettings, { CLICKHOUSE_URL: server.url });
    expect(await read(plain)).toEqual(expected);
    expect(await read(plain, { rows: 0 })).toEqual({ bytes: 0, sum: 0 });
  });

  it('is asked of the next host while the first one is down, and fails where none answers', async () => {
    const [first, second] = [await proxy(), await proxy()];
    first.close();
    expect((await read(settingsOf([first, second]), { rows: 10 })).bytes).toBe(80);
    second.close();
    await expect(read(settingsOf([first, second]))).rejects.toThrow(/ECONNREFUSED/);
  });

  it('that ClickHouse refuses, or cannot complete, ends with an error', async () => {
    const plain = parseSettings(clickhouseSettings, { CLICKHOUSE_URL: server.url });
    await expect(read(plain, { sql: 'SELECT' })).rejects.toMatchObject({ code: '62' });
    const failing = 'SELECT throwIf(number = 3000000) FROM numbers(5000000) FORMAT RowBinary';
    await expect(read(plain, { sql: failing })).rejects.toThrow(/ended within a result|size of a/);
  });

  it('ends with the reason of its signal', async () => {
    const plain = parseSettings(clickhouseSettings, { CLICKHOUSE_URL: server.url });
    const gone = new AbortController();
    const sleeping =
      'SELECT sleepEachRow(1) FROM numbers(30) SETTINGS max_block_size = 1 FORMAT RowBinary';
    const result = read(plain, { sql: sleeping, signal: gone.signal });
    gone.abort(new Error('nobody waits'));
    await expect(result).rejects.toThrow('nobody waits');
    await expect(read(plain, { signal: gone.signal })).rejects.toThrow('nobody waits');
  });
});

describe('the users of deploy/clickhouse/users.sql', () => {
  const clientAs = (user: string) => {
    const settings = parseSettings(clickhouseSettings, {
      CLICKHOUSE_URL: urlOfUser(server.url, user),
    });
    const client = connectClickhouse({ settings, name: 'test' });
    opened.push(client);
    return { settings, client };
  };
  const refused = /Not enough privileges/;

  it('migrate the database, write to it, and read it, and none can do more', async () => {
    const migrations = clientAs(MIGRATIONS_USER);
    expect(await migrateClickhouse(migrations.settings, ddlFolders())).not.toHaveLength(0);
    await expect(
      migrations.client.command({ query: "CREATE USER other IDENTIFIED BY 'x'" }),
    ).rejects.toThrow(refused);

    const today = new Date().toISOString().slice(0, 10);
    const services = clientAs(SERVICES_USER).client;
    await services.insert({
      ...{
        table: 'ingest_quality',
        format: 'JSONEachRow',
        values: [{ account_id: 1, day: today }],
      },
    });
    await services.command({ query: 'DELETE FROM ingest_quality WHERE account_id = 2' });
    const signal = new AbortController().signal;
    const profiles = clickhouseProfiles({ client: services, cluster: '' });
    expect(await profiles.load([{ accountId: 1, distinctId: 'nobody' }], signal)).toMatchObject({
      size: 0,
    });
    await expect(services.command({ query: 'DROP TABLE ingest_quality' })).rejects.toThrow(refused);
    await expect(
      services.command({ query: 'ALTER TABLE events ADD COLUMN c UInt8' }),
    ).rejects.toThrow(refused);

    const reports = clientAs(REPORTS_USER).client;
    const count = 'SELECT count() AS n FROM ingest_quality WHERE account_id = 1';
    const answer = await reports.query({ query: count, format: 'JSONEachRow' });
    expect(await answer.json()).toEqual([{ n: 1 }]);
    for (const query of [
      'INSERT INTO ingest_quality (account_id) VALUES (1)',
      'DELETE FROM ingest_quality WHERE account_id = 1',
    ])
      await expect(reports.command({ query })).rejects.toThrow(refused);
  });

  it('let reports see whether data has changed, or no answer would ever be kept', async () => {
    const migrations = clientAs(MIGRATIONS_USER);
    await migrateClickhouse(migrations.settings, ddlFolders());
    const services = clientAs(SERVICES_USER).client;
    const event = { account_id: 1, event: 'a', timestamp: Date.now() };
    await services.insert({ table: 'events', format: 'JSONEachRow', values: [event] });
    await services.command({ query: 'DELETE FROM events WHERE account_id = 2' });
    const reads = { events: ['a'], needed: ['a'], profiles: true, from: 0, to: Date.now() + 1 };
    const { sql, params } = compileState({
      ...{ accountId: 1, reads, now: Date.now(), asksNeeded: true, between: undefined },
    });
    const stateOf = async (client: ClickHouseClient): Promise<StateRow[]> => {
      const asked = { query: sql, query_params: params, format: 'JSONEachRow' } as const;
      const rows = await (await client.query(asked)).json<StateRow>();
      return rows.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
    };
    const seen = await stateOf(clientAs(REPORTS_USER).client);
    expect(seen).toEqual(await stateOf(migrations.client));
    expect(seen.filter(({ kind }) => kind === 'part')).toHaveLength(1);
    expect(seen.find(({ kind }) => kind === 'mutation')?.detail).not.toBe('0');
    expect(readState(seen).isComparable).toBe(true);
  });

  it('let operators rebuild a table, exchange it, and delete from it', async () => {
    const { client, settings } = clientAs(MIGRATIONS_USER);
    await migrateClickhouse(settings, ddlFolders());
    for (const table of ['events', 'profiles', 'identities_flat', 'messages']) {
      const shadow = { client, settings, table, suffix: 'again' };
      await createShadowTable(shadow);
      for (const query of [
        `INSERT INTO ${table}_again SELECT * FROM ${table}`,
        `SELECT count() FROM ${table}_again WHERE account_id IN (SELECT number FROM numbers(3))`,
        `DELETE FROM ${table}_again WHERE account_id = 1`,
        `ALTER TABLE ${table}_again DELETE WHERE account_id = 2 SETTINGS mutations_sync = 2`,
        `EXCHANGE TABLES ${table} AND ${table}_again`,
        `OPTIMIZE TABLE ${table} FINAL`,
        `TRUNCATE TABLE ${table}_again`,
        `KILL QUERY WHERE query_id = 'none' SYNC`,
      ])
        await client.command({ query });
      await renameShadowTable(shadow, 'former');
      await dropShadowTable({ ...shadow, suffix: 'former' });
    }
    const signal = new AbortController().signal;
    const profiles = clickhouseProfiles({ client, cluster: '' });
    expect(await profiles.load([{ accountId: 1, distinctId: 'nobody' }], signal)).toMatchObject({
      size: 0,
    });
  });
});
