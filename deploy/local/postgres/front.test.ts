import type { AddressInfo } from 'node:net';
import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFront } from './front.ts';

describe('when many clients share one engine', () => {
  let db: PGlite;
  let server: ReturnType<typeof createFront>;
  let url: string;
  const failures: unknown[] = [];
  const pools: pg.Pool[] = [];

  const pool = (max = 3) => {
    const made = new pg.Pool({ connectionString: url, max });
    made.on('error', () => undefined);
    pools.push(made);
    return made;
  };

  beforeAll(async () => {
    db = await PGlite.create();
    server = createFront({
      engine: db,
      maxConnections: 50,
      idleInTransaction: 1500,
      onEngineFailure: (error) => failures.push(error),
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `postgres://postgres@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`;
    await pool().query('CREATE TABLE t (id int PRIMARY KEY, v text)');
  }, 60_000);

  afterAll(async () => {
    await Promise.all(pools.map((one) => one.end()));
    await new Promise((resolve) => server.close(resolve));
    await db.close();
    expect(failures).toEqual([]);
  });

  it('each client gets its own answer, also when statements arrive in pieces', async () => {
    const large = 'x'.repeat(200_000);
    const work = [pool(), pool(), pool()].flatMap((one, p) =>
      [0, 1, 2].map(async (w) => {
        for (let i = 0; i < 10; i++) {
          const mark = `${p}-${w}-${i}`;
          const odd = (i + w) % 2 === 1;
          const { rows } = odd
            ? await one.query<{ v: string }>('SELECT $1::text AS v', [mark + large])
            : await one.query<{ v: string }>('SELECT $2::text AS v, $1::int AS n', [
                i,
                mark + large,
              ]);
          expect(rows[0]?.v).toBe(mark + large);
        }
      }),
    );
    await Promise.all(work);
  });

  it('other clients wait while a transaction is open, and continue after it', async () => {
    const one = await pool().connect();
    await one.query('BEGIN');
    await one.query("INSERT INTO t VALUES (1, 'mine')");
    const seen = pool().query<{ count: string }>('SELECT count(*) FROM t');
    await one.query('ROLLBACK');
    expect((await seen).rows[0]?.count).toBe('0');
    one.release();
  });

  it('a transaction that a client leaves open is rolled back, and the others continue', async () => {
    const one = new pg.Client({ connectionString: url });
    one.on('error', () => undefined);
    await one.connect();
    await one.query('BEGIN');
    await one.query("INSERT INTO t VALUES (2, 'left')");
    await one.end();
    expect((await pool().query('SELECT * FROM t')).rows).toEqual([]);
  });

  it('a client that holds a transaction idle is disconnected', async () => {
    const one = new pg.Client({ connectionString: url });
    one.on('error', () => undefined);
    await one.connect();
    await one.query('BEGIN');
    await one.query("INSERT INTO t VALUES (3, 'silent')");
    expect((await pool().query('SELECT * FROM t')).rows).toEqual([]);
    await expect(one.query('COMMIT')).rejects.toThrow();
  });

  it('an error of one client has no effect on the next', async () => {
    const one = pool(1);
    await expect(one.query('SELECT $1::int', ['word'])).rejects.toThrow(/invalid input syntax/);
    await expect(one.query('SELEC')).rejects.toThrow(/syntax error/);
    const { rows } = await one.query<{ n: number }>('SELECT $1::int AS n', [5]);
    expect(rows[0]?.n).toBe(5);
  });
});
