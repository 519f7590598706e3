import { createClient } from '@clickhouse/client';
import { expect, it } from 'vitest';
import { storedRowsQuery } from '../../../ops/why/warehouse.ts';
import { clickhouse, readyStack, rows } from '../../support/stack.ts';

const ROWS = 3_000_000;

it('why reads a few granules of an account with millions of events, whether the message id exists or not', async () => {
  const ready = readyStack();
  const admin = clickhouse(ready);
  const database = `why_scale_${process.pid}`;
  try {
    await admin.command({ query: `CREATE DATABASE ${database}` });
    await admin.command({
      query: `CREATE TABLE ${database}.events AS ${ready.clickhouse_database}.events`,
    });
    await admin.command({
      query: `INSERT INTO ${database}.events (account_id, event, user_id, message_id, timestamp, received_at, _offset)
        SELECT 1, concat('e', toString(number % 20)), toString(number % 50000), lower(hex(MD5(toString(number)))),
          now64(3) - INTERVAL number % 300 DAY, now64(3), number FROM numbers(${ROWS})`,
      clickhouse_settings: { max_partitions_per_insert_block: '100' },
    });
    const client = createClient({ url: ready.clickhouse_url, database, request_timeout: 60_000 });
    try {
      const [one] = await rows<{ message_id: string }>(
        client,
        `SELECT message_id FROM events WHERE _offset = ${ROWS / 2}`,
      );
      // A filter lets 1% of the granules through that do not have the id.
      const most = ROWS * 0.05;
      const answered = async (messageId: string) => {
        const question = storedRowsQuery({ accountId: 1, messageId, since: undefined });
        const { query, params: query_params } = question;
        const answer = await client.query({ query, query_params, format: 'JSON' });
        const { rows: found, statistics } = await answer.json();
        expect(statistics?.rows_read).toBeLessThan(most);
        return found;
      };
      expect(await answered(one?.message_id ?? '')).toBe(1);
      expect(await answered('never-sent')).toBe(0);
    } finally {
      await client.close();
    }
  } finally {
    await admin.command({ query: `DROP DATABASE IF EXISTS ${database}` });
    await admin.close();
  }
});
