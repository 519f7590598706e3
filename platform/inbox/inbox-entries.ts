import { isJsonObject, type JsonObject } from '../../events/json.ts';
import { escapeText } from '../postgres/escaped-text.ts';
import type { Database } from '../postgres/pool.ts';

/** A message in the inbox of a user. */
export interface InboxEntry {
  accountId: number;
  userId: string;
  /** The message id. */
  id: string;
  title: string;
  body: string;
  url?: string;
  data?: JsonObject;
  /** ms since the epoch */
  createdAt: number;
}

/** Entries that a user has read. */
export interface EntriesRead {
  accountId: number;
  userId: string;
  ids: readonly string[];
  /** When the request was accepted, ms since the epoch. */
  at: number;
}

/** Adds entries in one statement; one that is stored already stays as it is. */
export async function addInboxEntries(
  database: Pick<Database, 'query'>,
  entries: readonly InboxEntry[],
): Promise<void> {
  await database.query(
    `INSERT INTO inbox_entries (account_id, user_id, id, title, body, url, data, created_at)
     SELECT account_id, user_id, id, title, body, url, data, to_timestamp(created_at / 1000.0)
     FROM json_to_recordset($1::json) AS e (account_id bigint, user_id text, id text, title text, body text, url text, data json, created_at bigint)
     ON CONFLICT (account_id, user_id, id) DO NOTHING`,
    [
      JSON.stringify(
        entries.map((entry) => ({
          account_id: entry.accountId,
          user_id: escapeText(entry.userId),
          id: entry.id,
          title: withoutNul(entry.title),
          body: withoutNul(entry.body),
          url: entry.url === undefined ? undefined : withoutNul(entry.url),
          data: storable(entry.data),
          created_at: entry.createdAt,
        })),
      ),
    ],
  );
}

/**
 * Marks entries as read, in one statement. Idempotent, and the same in whatever order reads are
 * applied: an entry keeps its first read. What is no entry of the user is ignored. Rows are locked
 * in one order, so that several tabs of a user never wait for each other in a circle.
 */
export async function markInboxRead(
  database: Pick<Database, 'query'>,
  reads: readonly EntriesRead[],
): Promise<void> {
  const all = reads.flatMap(({ accountId, userId, ids, at }) => {
    const user_id = escapeText(userId);
    return storableIds(ids).map((id) => ({ account_id: accountId, user_id, id, at }));
  });
  if (all.length === 0) return;
  await database.query(
    `WITH reads AS (
       SELECT account_id, user_id, id, to_timestamp(min(at) / 1000.0) AS at
       FROM json_to_recordset($1::json) AS r (account_id bigint, user_id text, id text, at bigint)
       GROUP BY account_id, user_id, id
     ), locked AS (
       SELECT e.account_id, e.user_id, e.id, r.at FROM inbox_entries e JOIN reads r USING (account_id, user_id, id)
       WHERE e.read_at IS NULL OR e.read_at > r.at
       ORDER BY account_id, user_id, id FOR NO KEY UPDATE OF e
     )
     UPDATE inbox_entries e SET read_at = least(e.read_at, l.at)
     FROM locked l WHERE e.account_id = l.account_id AND e.user_id = l.user_id AND e.id = l.id`,
    [JSON.stringify(all)],
  );
}

/** Those that an entry can have: PostgreSQL stores neither NUL nor half a character. */
export function storableIds(ids: readonly string[]): string[] {
  return ids.filter((id) => id.isWellFormed() && !id.includes('\0'));
}

/** A value of JSON without what PostgreSQL refuses, which would refuse all other entries too. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return withoutNul(value);
  if (Array.isArray(value)) return value.map(storable);
  return isJsonObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([key, one]) => [withoutNul(key), storable(one)]),
      )
    : value;
}

function withoutNul(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}
