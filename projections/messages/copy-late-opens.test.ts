import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addMessageRecipients } from '../../platform/tracking/message-recipients.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { copyLateOpens } from './copy-late-opens.ts';

let postgres: MigratedDatabase;
let copied: Record<string, unknown>[];
let isDown: boolean;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0053', '0065']);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  [copied, isDown] = [[], false];
  await postgres.database.query('DELETE FROM message_recipients');
});

const copy = () =>
  copyLateOpens({
    ...{ database: postgres.database, cluster: '' },
    clickhouse: {
      insert: ({ values }) => {
        if (isDown) return Promise.reject(new Error('down'));
        copied.push(...(values as Record<string, unknown>[]));
        return Promise.resolve({ executed: true, query_id: '', response_headers: {} });
      },
    },
  });

/** @param opens times of the first open, and of the first one by a person; ms */
async function add(
  messageId: string,
  opens: [any: number | null, person: number | null],
  campaignId = 3,
): Promise<void> {
  const ref = Buffer.alloc(12);
  ref.write(messageId);
  await addMessageRecipients(postgres.database, [
    {
      ...{ accountId: 1, ref, userId: `of\\${messageId}`, channel: 'email', campaignId, messageId },
      ...{ address: 'a@b.ir', category: '', templateId: 0, variantId: '' },
    },
  ]);
  await postgres.database.query(
    `UPDATE message_recipients SET opened_at = to_timestamp($2::float8 / 1000), opened_by_person_at = to_timestamp($3::float8 / 1000) WHERE message_id = $1`,
    [messageId, ...opens],
  );
}

const ids = () => copied.map(({ message_id }) => message_id).toSorted();

describe('late opens', () => {
  it('are those by people of messages of campaigns that a machine opened at another time', async () => {
    await add('late', [1000, 2500]);
    await add('first', [1000, 1000]);
    await add('machine', [1000, null]);
    await add('unopened', [null, null]);
    await add('single', [1000, 2000], 0);
    await copy();
    expect(copied).toEqual([
      {
        ...{ account_id: 1, campaign_id: 3, message_id: 'late', user_id: 'of\\late' },
        opened_by_person_at: '1970-01-01T00:00:02.500Z',
      },
    ]);
  });

  it('are copied once, and again when ClickHouse did not answer', async () => {
    await add('a', [1, 2]);
    isDown = true;
    await expect(copy()).rejects.toThrow('down');
    isDown = false;
    expect([await copy(), await copy()]).toEqual([1, 0]);
    await add('b', [1, 2]);
    await copy();
    expect(ids()).toEqual(['a', 'b']);
  });

  it('are copied all, however many there are', async () => {
    for (let at = 0; at < 3; at++)
      await postgres.database.query(
        `INSERT INTO message_recipients (account_id, ref, user_id, channel, campaign_id, message_id, address, opened_at, opened_by_person_at)
         SELECT 1, decode(lpad(to_hex($1::int * 500 + n), 24, '0'), 'hex'), 'u', 'email', 3, 'm' || ($1::int * 500 + n), 'a', to_timestamp(1), to_timestamp(2) FROM generate_series(1, 500) AS n`,
        [at],
      );
    expect(await copy()).toBe(1500);
    expect(new Set(ids()).size).toBe(1500);
  });
});
