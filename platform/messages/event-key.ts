import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Database } from '../postgres/pool.ts';

/**
 * The key under which ids of platform events are made (events/messages/platform-event.ts): made
 * with the database, and never changed. Rejects without PostgreSQL.
 */
export async function readEventKey(database: Pick<Database, 'query'>): Promise<KeyObject> {
  const { rows } = await database.query<{ key: Buffer }>('SELECT key FROM platform_event_key');
  const [row] = rows;
  if (!row)
    throw new Error('platform_event_key is empty: restore it from a backup of this installation');
  return createSecretKey(row.key);
}
