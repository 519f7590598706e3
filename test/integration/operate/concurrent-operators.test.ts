import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OperationQueue } from '../../../ops/operator/operation-queue.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { eventually, readyStack } from '../../support/stack.ts';

/** A table operations that the stack's own operator does not look at. */
const SCHEMA = 'concurrent_operators';
const stack = openPostgres();
const clients = [0, 1].map(
  () =>
    new pg.Client({
      ...{ connectionString: readyStack().database_url, application_name: SCHEMA },
      options: `-c search_path=${SCHEMA},public`,
    }),
);

beforeAll(async () => {
  await stack.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
  await stack.query(`CREATE SCHEMA ${SCHEMA}`);
  await stack.query(`CREATE TABLE ${SCHEMA}.operations (LIKE operations INCLUDING ALL)`);
  await stack.query(
    `INSERT INTO ${SCHEMA}.operations (account_id, kind, input, subject, is_long, is_dry)
       SELECT account_id, 'dead_letters.redrive', '{"group":"ab12","dry_run":false}', repeat(subject, 64), false, false
       FROM (VALUES (1, '1'), (1, '2'), (2, '3')) one (account_id, subject)`,
  );
  await Promise.all(clients.map((client) => client.connect()));
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await stack.query(`DROP SCHEMA ${SCHEMA} CASCADE`);
});

it('two processes that claim at the same moment do not run two operations of one account', async () => {
  const [first, second] = clients;
  if (!first || !second) throw new Error('no connection');
  await first.query('BEGIN');
  const one = await new OperationQueue(first).claim({ isLong: false });
  // The first claim is not committed yet: the second one does not see it.
  const other = new OperationQueue(second).claim({ isLong: false });
  const waits = eventually({ ms: 30_000, every: 20, waitingFor: 'the second claim' }, async () => {
    const { rows } = await stack.query(
      `SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`,
      [SCHEMA],
    );
    return rows.length > 0 || undefined;
  });
  const claimed = other.then((operation) => operation?.accountId);
  expect(await Promise.race([waits, claimed])).toBe(true);
  await first.query('COMMIT');
  expect([one?.accountId, await claimed]).toEqual([1, undefined]);
  const next = await new OperationQueue(second).claim({ isLong: false });
  expect(next?.accountId).toBe(2);
  expect(await new OperationQueue(second).claim({ isLong: false })).toBeUndefined();
});
