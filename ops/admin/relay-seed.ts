import type { Database } from '../../platform/postgres/pool.ts';

/**
 * Gives a new demo account one example relay, disabled because its URL is a reserved name. Only
 * once: a deleted relay does not come back.
 */
export async function seedRelay(
  database: Pick<Database, 'query'>,
  accountId: number,
): Promise<void> {
  await database.query(
    `INSERT INTO relays (account_id, name, url, events, enabled) VALUES ($1, $2, $3, $4, false) ON CONFLICT (account_id, name) DO NOTHING`,
    [
      accountId,
      'demo orders',
      'https://example.com/ravand/orders',
      ['order_completed', 'order_refunded', 'order_cancelled'],
    ],
  );
}
