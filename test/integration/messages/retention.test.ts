import { afterAll, beforeAll, expect, it } from 'vitest';
import { retentionRows } from '../../../projections/retention/clickhouse-rows.ts';
import { isoTime, openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const BELOW = Date.UTC(2026, 10, 1);

let database: TestDatabase;
beforeAll(async () => {
  const ddl = ['projections/messages/ddl/0060_messages.sql'];
  database = await openTestDatabase('messages_retention', { ddl, tables: [] });
});
afterAll(() => database.close());

it('messages, audiences and late opens of an account go when its retention has passed', async () => {
  const rows = (time: string) =>
    [
      { account_id: 1, at: BELOW - 1 },
      { account_id: 1, at: BELOW },
      { account_id: 2, at: BELOW - 1 },
    ].map(({ account_id, at }, n) => ({ account_id, message_id: `m${n}`, [time]: isoTime(at) }));
  const tables = { messages: 'planned_at', campaign_recipients: 'frozen_at' };
  const all = { ...tables, message_opens: 'opened_by_person_at' };
  for (const [table, time] of Object.entries(all)) await database.insert(table, rows(time));
  const stored = retentionRows(database.client, '');
  for (let run = 0; run < 2; run++) await stored.deleteMessages(1, BELOW);
  for (const [table, time] of Object.entries(all)) {
    const answer = await database.client.query({
      query: `SELECT account_id, toUnixTimestamp64Milli(${time}) FROM ${table} ORDER BY account_id`,
      format: 'JSONCompactEachRow',
    });
    const left = [
      [1, BELOW],
      [2, BELOW - 1],
    ];
    expect(await answer.json(), table).toEqual(left);
  }
});
