import { connect, type AddressInfo } from 'node:net';
import type { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyEngine } from '../../../platform/postgres/testing/empty-engine.ts';
import { createFront } from './front.ts';

const PASSWORD = 'right';

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
    db = await emptyEngine();
    server = createFront({
      engine: db,
      password: PASSWORD,
      maxConnections: 50,
      idleInTransaction: 1500,
      onEngineFailure: (error) => failures.push(error),
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `postgres://postgres:${PASSWORD}@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`;
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

  it.each(['wrong', '', 'righ', 'rightt'])('the password %j is refused', async (password) => {
    const address = new URL(url);
    address.password = password;
    const one = new pg.Client({ connectionString: address.href, password });
    one.on('error', () => undefined);
    await expect(one.connect()).rejects.toMatchObject({
      code: '28P01',
      message: 'password authentication failed',
    });
  });

  it('nothing of a client without the password reaches the engine', async () => {
    const query = Buffer.from('Q\0\0\0\x16DROP TABLE t;    \0', 'latin1');
    const startup = Buffer.from('\0\0\0\x16\0\x03\0\0user\0postgres\0\0', 'latin1');
    startup.writeInt32BE(startup.length, 0);
    query.writeInt32BE(query.length - 1, 1);
    const password = Buffer.from('p\0\0\0\x0aright\0', 'latin1');
    for (const message of [
      [startup, query],
      [startup, startup],
      [password, startup, query],
      [startup, password.subarray(0, 8), query],
      [startup, Buffer.from('p\0\x7f\0\0', 'latin1'), Buffer.alloc(20_000)],
    ])
      expect(await answerTo(Buffer.concat(message))).not.toContain('Z\0\0\0\x05');
    expect((await pool().query('SELECT 1 AS one FROM t LIMIT 1')).fields).toHaveLength(1);
  });

  it('a client learns the answer to its password while another holds a transaction', async () => {
    const one = await pool().connect();
    await one.query('BEGIN');
    const address = new URL(url);
    address.password = 'wrong';
    const other = new pg.Client({ connectionString: address.href });
    other.on('error', () => undefined);
    await expect(other.connect()).rejects.toThrow('password authentication failed');
    await one.query('ROLLBACK');
    one.release();
  });

  /** Sends the bytes; what comes back until the server closes. */
  const answerTo = async (bytes: Buffer): Promise<string> => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' });
    let answer = '';
    socket.on('data', (data) => (answer += data.toString('latin1'))).on('error', () => undefined);
    socket.end(bytes);
    await new Promise((resolve) => socket.once('close', resolve));
    return answer;
  };
});
