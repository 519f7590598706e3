import { withDeadline } from '../../platform/deadline.ts';
import {
  markInboxRead,
  storableIds,
  type EntriesRead,
} from '../../platform/inbox/inbox-entries.ts';
import { escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** An entry as clients read it (docs/channels.md, The inbox). */
export interface InboxMessage {
  id: string;
  title: string;
  body: string;
  url?: string;
  data?: unknown;
  /** RFC 3339, UTC. */
  created_at: string;
  read: boolean;
}

export interface InboxUser {
  accountId: number;
  userId: string;
}

/** Inboxes in PostgreSQL; each method is one statement and rejects when it is unreachable. */
export interface InboxStore {
  /** Sealed secrets of apps that are live, newest first. */
  secrets(appIds: readonly number[]): Promise<Map<number, SealedSecrets>>;
  /** Ids of unread entries: of all, or of those with the given ids. */
  unread(user: InboxUser, which: 'all' | readonly string[]): Promise<string[]>;
  markRead(read: EntriesRead): Promise<void>;
  /** Entries, newest first, and how many of all entries are unread. */
  list(user: InboxUser, page: InboxPage): Promise<{ messages: InboxMessage[]; unread: number }>;
}

export interface SealedSecrets {
  accountId: number;
  sealed: readonly Buffer[];
}

export interface InboxPage {
  limit: number;
  /** The id of an entry: only older ones are listed. Undefined: from the newest. */
  before: string | undefined;
}

interface Row {
  unread: string;
  id: string | null;
  title: string;
  body: string;
  url: string | null;
  data: unknown;
  created_at: Date;
  read: boolean;
}

/** Longest wait of a request for one statement, ms. */
const DEADLINE = { ms: 3000, waitingFor: 'the inbox in PostgreSQL' };
/** Live secrets of an app; `admin app secret --rotate` retires the others. */
const LIVE_SECRETS = 2;

export function connectInboxStore(database: Pick<Database, 'query'>): InboxStore {
  return {
    async secrets(appIds) {
      const query = database.query<{ app_id: string; account_id: string; secrets: Buffer[] }>(
        `SELECT a.id AS app_id, a.account_id, s.secrets FROM apps a
         CROSS JOIN LATERAL (SELECT array_agg(secret ORDER BY id DESC) AS secrets FROM (
           SELECT id, secret FROM app_inbox_secrets WHERE app_id = a.id AND account_id = a.account_id AND retired_at IS NULL
           ORDER BY id DESC LIMIT ${LIVE_SECRETS}) live) s
         WHERE a.id = ANY($1::bigint[]) AND s.secrets IS NOT NULL`,
        [[...appIds]],
      );
      const { rows } = await withDeadline(DEADLINE, query);
      return new Map(
        rows.map((row) => [
          Number(row.app_id),
          {
            accountId: Number(row.account_id),
            sealed: row.secrets.map((bytes) => Buffer.from(bytes)),
          },
        ]),
      );
    },
    async unread({ accountId, userId }, which) {
      const ids = which === 'all' ? undefined : storableIds(which);
      const query = database.query<{ id: string }>(
        `SELECT id FROM inbox_entries WHERE account_id = $1 AND user_id = $2 AND read_at IS NULL${ids ? ' AND id = ANY($3::text[])' : ''}`,
        [accountId, escapeText(userId), ...(ids ? [ids] : [])],
      );
      const { rows } = await withDeadline(DEADLINE, query);
      return rows.map(({ id }) => id);
    },
    markRead: (read) => withDeadline(DEADLINE, markInboxRead(database, [read])),
    async list({ accountId, userId }, { limit, before }) {
      const isPaged = before !== undefined;
      const older = isPaged
        ? ' AND (created_at, id) < (SELECT created_at, id FROM inbox_entries WHERE account_id = $1 AND user_id = $2 AND id = $4)'
        : '';
      const query = database.query<Row>(
        `SELECT u.unread, e.* FROM (SELECT count(*) AS unread FROM inbox_entries WHERE account_id = $1 AND user_id = $2 AND read_at IS NULL) u
         LEFT JOIN LATERAL (SELECT id, title, body, url, data, created_at, read_at IS NOT NULL AS read
           FROM inbox_entries WHERE account_id = $1 AND user_id = $2${older} ORDER BY created_at DESC, id DESC LIMIT $3) e ON true
         ORDER BY e.created_at DESC, e.id DESC`,
        [accountId, escapeText(userId), limit, ...(isPaged ? [before.replaceAll('\0', '')] : [])],
      );
      const { rows } = await withDeadline(DEADLINE, query);
      return {
        messages: rows.flatMap((row) => (row.id === null ? [] : [messageOf(row, row.id)])),
        unread: Number(rows[0]?.unread ?? 0),
      };
    },
  };
}

function messageOf({ title, body, url, data, created_at, read }: Row, id: string): InboxMessage {
  return {
    ...{ id, title, body },
    ...(url === null ? {} : { url }),
    ...(data === null ? {} : { data }),
    ...{ created_at: created_at.toISOString(), read },
  };
}
