import { expect, it } from 'vitest';
import { openPostgres } from '../../support/stack-clients.ts';
import { call, coded, makeAccount, makeKey } from './host.ts';

const database = openPostgres();

it('an account with ten open exports is answered 429, until one of them has ended', async () => {
  const account = await makeAccount();
  const [own, other] = [await makeKey(account, 'admin'), await makeKey(account, 'admin')];
  const { key: stranger } = await makeKey(await makeAccount(), 'admin');
  const order = (key: string) =>
    call('POST', '/v1/exports', {
      key,
      body: { kind: 'events', spec: { note: 'x'.repeat(100_000), events: ['a'] } },
    });
  // jobs that no worker claims
  await database.query(
    `INSERT INTO exports (account_id, kind, format, spec, due_at)
     SELECT $1, 'events', 'ndjson', '{}', now() + interval '1 hour' FROM generate_series(1, 10)`,
    [account],
  );
  for (const { key } of [own, other]) {
    const refusal = await order(key);
    expect([refusal.status, refusal.headers.get('retry-after'), refusal.body]).toEqual([
      429,
      '60',
      coded(
        'budget_exhausted',
        'this account has 10 exports that are queued or running; wait until one has ended',
      ),
    ]);
  }
  expect((await order(stranger)).status).toBe(202);
  await database.query(
    "UPDATE exports SET status = 'failed' WHERE id = (SELECT min(id) FROM exports WHERE account_id = $1)",
    [account],
  );
  const made = await order(own.key);
  expect(made.status).toBe(202);
  const { id } = made.body as { id: number };
  const { rows } = await database.query('SELECT spec FROM exports WHERE id = $1', [id]);
  expect(rows).toEqual([{ spec: { events: ['a'] } }]);
  const audit = await database.query(
    `SELECT actor, action, details FROM audit_lines
     WHERE account_id = $1 AND action LIKE 'export.%'`,
    [account],
  );
  expect(audit.rows).toEqual([
    {
      actor: `key:${own.id}`,
      action: 'export.created',
      details: { export_id: id, kind: 'events', format: 'ndjson' },
    },
  ]);
});
