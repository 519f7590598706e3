import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../../platform/log.ts';
import { migratePostgres } from '../../../platform/postgres/migrate.ts';
import { connectPostgres, type Database } from '../../../platform/postgres/pool.ts';
import { makeAuthority, type Authority } from '../../support/connections/certificates.ts';
import {
  POSTGRES_PASSWORD,
  startPgbouncer,
  startPostgres,
  type RunningPostgres,
} from '../../support/connections/postgres-servers.ts';

const MIGRATIONS = join(import.meta.dirname, '../../../deploy/migrations/postgres');
const folder = mkdtempSync(join(tmpdir(), 'ravand-postgres-'));
const log = createLog({ part: 'test', level: 'fatal' });
const pools: Database[] = [];
let authority: Authority;
let server: RunningPostgres;
let pooler: RunningPostgres;

beforeAll(async () => {
  authority = makeAuthority(folder);
  server = await startPostgres(folder, authority);
  pooler = await startPgbouncer(folder, { authority, server: server.port });
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
});
afterAll(async () => {
  await pooler.process.end();
  await server.process.end();
  rmSync(folder, { recursive: true, force: true });
});

const connect = (
  { host = 'localhost', port = server.port, user = `postgres:${POSTGRES_PASSWORD}` },
  parameters: Readonly<Record<string, string>>,
  size = 0,
) => {
  const query = new URLSearchParams(parameters).toString();
  const url = `postgres://${user}@${host}:${port}/postgres?${query}`;
  const pool = connectPostgres({ url, log, name: 'test', size });
  pools.push(pool);
  return pool;
};
const ONE = 'SELECT version.ssl FROM pg_stat_ssl AS version WHERE pid = pg_backend_pid()';

describe('PostgreSQL with TLS', () => {
  it('is verified with the certificate of its authority, host name included', async () => {
    const verified = { sslmode: 'verify-full', sslrootcert: authority.ca };
    expect((await connect({}, verified).query(ONE)).rows).toEqual([{ ssl: true }]);
    expect((await connect({}, { sslrootcert: authority.ca }).query(ONE)).rows).toHaveLength(1);
  });

  it('is refused when another authority signed its certificate, also with sslmode=require', async () => {
    const { ca } = makeAuthority(folder, 'other');
    for (const parameters of [{ sslrootcert: ca }, { sslmode: 'require' }])
      await expect(connect({}, parameters).query('SELECT 1')).rejects.toThrow(
        /self-signed certificate|unable to verify/,
      );
  });

  it('is refused under a name that its certificate lacks, unless sslmode=verify-ca', async () => {
    const elsewhere = { host: '127.0.0.2' };
    const { ca: sslrootcert } = authority;
    await expect(connect(elsewhere, { sslrootcert }).query(ONE)).rejects.toThrow(
      /does not match certificate/,
    );
    const { rows } = await connect(elsewhere, { sslrootcert, sslmode: 'verify-ca' }).query(ONE);
    expect(rows).toEqual([{ ssl: true }]);
  });

  it('accepts a client certificate instead of a password', async () => {
    const { cert, key } = authority.issue('ravand');
    const admin = connect({}, { sslrootcert: authority.ca });
    await admin.query('CREATE ROLE ravand LOGIN');
    const files = { sslrootcert: authority.ca, sslcert: cert, sslkey: key };
    const { rows } = await connect({ user: 'ravand' }, files).query('SELECT current_user AS who');
    expect(rows).toEqual([{ who: 'ravand' }]);
    const { sslrootcert } = files;
    await expect(connect({ user: 'ravand' }, { sslrootcert }).query('SELECT 1')).rejects.toThrow(
      /certificate/,
    );
  });
});

it('a pool opens as many connections as DATABASE_POOL_SIZE says', async () => {
  const pool = connect({}, { sslrootcert: authority.ca }, 5);
  const pids = await Promise.all(
    Array.from({ length: 12 }, () => pool.query('SELECT pg_backend_pid() AS pid, pg_sleep(0.05)')),
  );
  expect(new Set(pids.map(({ rows }) => (rows[0] as { pid: number }).pid)).size).toBe(5);
});

describe('through PgBouncer in transaction mode', () => {
  it('all migrations run, twice at a time, and the second run finds them', async () => {
    const through = { port: pooler.port };
    const parameters = { sslrootcert: authority.ca };
    const runs = await Promise.all([
      migratePostgres(connect(through, parameters), MIGRATIONS),
      migratePostgres(connect(through, parameters), MIGRATIONS),
    ]);
    const names = runs.flat();
    expect(names.length).toBeGreaterThan(20);
    expect(new Set(names).size).toBe(names.length);
    expect(await migratePostgres(connect(through, parameters), MIGRATIONS)).toEqual([]);
  });

  it('statements with parameters of forty clients share two connections to the server', async () => {
    const through = { port: pooler.port };
    const clients = Array.from({ length: 10 }, () =>
      connect(through, { sslrootcert: authority.ca }, 4),
    );
    const answers = await Promise.all(
      clients.flatMap((pool, at) =>
        Array.from({ length: 20 }, (_, n) =>
          pool.query<{ pid: number; echo: string }>(
            'SELECT pg_backend_pid() AS pid, $1::text AS echo',
            [`${at} ${n}`],
          ),
        ),
      ),
    );
    const rows = answers.flatMap((answer) => answer.rows);
    expect(rows.map(({ echo }) => echo)).toEqual(
      clients.flatMap((_, at) => Array.from({ length: 20 }, (_unused, n) => `${at} ${n}`)),
    );
    expect(new Set(rows.map(({ pid }) => pid)).size).toBeLessThanOrEqual(2);
  });
});
