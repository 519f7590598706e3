import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { accountSet } from './accounts.ts';

let postgres: MigratedDatabase;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0012', '0060']);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await postgres.database.query('TRUNCATE accounts CASCADE');
  await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')");
  await postgres.database.query(
    `INSERT INTO campaigns (id, account_id, name, channel, definition) VALUES (3, 1, 'c', 'sms', '{}'), (4, 2, 'c', 'sms', '{}')`,
  );
});

const set = (...words: string[]) =>
  accountSet.run(
    { values: { account: '1' }, words },
    { database: postgres.database as never, kafka: {} as never, env: {} },
  );

/** A run whose deadline was an hour ago. */
const addRun = (id: number, fields = '', { campaign = 3, account = 1, state = 'sending' } = {}) =>
  postgres.database
    .query(
      `INSERT INTO campaign_runs (id, campaign_id, account_id, cause, state, due_at, definition, version, deadline_at) VALUES ($1, $2, $3, 'send', $4, now(), '{}', 1, now() - interval '1 hour')`,
      [id, campaign, account, state],
    )
    .then(() =>
      fields === ''
        ? undefined
        : postgres.database.query(`UPDATE campaign_runs SET ${fields} WHERE id = $1`, [id]),
    );

/** Hours until the deadline of each run. */
async function deadlines(): Promise<Record<number, number | null>> {
  const { rows } = await postgres.database.query<{ id: number; hours: number | null }>(
    `SELECT id::integer, round(extract(epoch FROM deadline_at - now()) / 3600)::integer AS hours FROM campaign_runs`,
  );
  return Object.fromEntries(rows.map(({ id, hours }) => [id, hours]));
}

describe('admin account set', () => {
  it('gives runs their time again when a suspended account is active again', async () => {
    await addRun(1);
    await addRun(2, '', { state: 'planning' });
    await addRun(3, 'deadline_at = NULL', { state: 'planning' });
    await addRun(4, '', { state: 'finished' });
    await addRun(5, 'cancelled = true');
    await addRun(6, '', { campaign: 4, account: 2 });
    await set('status=suspended');
    expect(await deadlines()).toMatchObject({ 1: -1, 2: -1 });
    expect(await set('status=active')).toMatchObject({ status: 'active' });
    expect(await deadlines()).toEqual({ 1: 24, 2: 24, 3: null, 4: -1, 5: -1, 6: -1 });
  });

  it('leaves the deadlines of an account that was active', async () => {
    await addRun(1);
    await set('status=active', 'max_events=5');
    expect(await deadlines()).toEqual({ 1: -1 });
  });
});
