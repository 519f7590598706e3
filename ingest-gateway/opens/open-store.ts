import type { OpenedMessage } from '../../events/channels/open-event.ts';
import { unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** A message that somebody opened, and what is known of its opens. */
export interface StoredOpen extends OpenedMessage {
  accountId: number;
  /** Its event is durable. */
  isOpened: boolean;
  /** A person has opened it, and not only a mail proxy or a bot. */
  isOpenedByPerson: boolean;
}

/** Opens of a message to store, ms since the epoch. */
export interface OpenTimes {
  accountId: number;
  ref: Buffer;
  openedAt: number;
  /** Undefined: by proxies and bots only. */
  personAt: number | undefined;
}

export interface OpenStore {
  /** Messages by (account, ref); those that do not exist are left out. */
  find: (wanted: readonly Pick<OpenTimes, 'accountId' | 'ref'>[]) => Promise<StoredOpen[]>;
  /** The first open, and the first one by a person, stay as they are. */
  mark: (opens: readonly OpenTimes[]) => Promise<void>;
}

interface Row extends Record<'account_id' | 'campaign_id' | 'template_id', string> {
  ref: Buffer;
  user_id: string;
  channel: string;
  message_id: string;
  category: string;
  variant_id: string;
  is_opened: boolean;
  is_person: boolean;
}

const FIND = `SELECT r.account_id, r.ref, r.user_id, r.channel, r.campaign_id, r.message_id, r.category, r.template_id, r.variant_id,
    r.opened_at IS NOT NULL AS is_opened, r.opened_by_person_at IS NOT NULL AS is_person
  FROM message_recipients r JOIN unnest($1::bigint[], $2::bytea[]) AS wanted (account_id, ref) USING (account_id, ref)`;

// Rows are locked in one order: gateways never wait for each other in a circle.
const MARK = `WITH opens AS (
    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) AS o (account_id, ref, opened_at, person_at)
  ), locked AS (
    SELECT r.account_id, r.ref FROM message_recipients r JOIN opens USING (account_id, ref) ORDER BY r.account_id, r.ref FOR UPDATE OF r
  )
  UPDATE message_recipients r SET opened_at = coalesce(r.opened_at, to_timestamp(o.opened_at / 1000.0)),
    opened_by_person_at = coalesce(r.opened_by_person_at, to_timestamp(o.person_at / 1000.0))
  FROM opens o, locked l WHERE r.account_id = o.account_id AND r.ref = o.ref AND l.account_id = o.account_id AND l.ref = o.ref`;

/** Opens in PostgreSQL, beside the recipients; rejects when it does not answer. */
export function connectOpenStore(database: Pick<Database, 'query'>): OpenStore {
  return {
    find: async (wanted) => {
      const { rows } = await database.query<Row>(FIND, [
        wanted.map(({ accountId }) => accountId),
        wanted.map(({ ref }) => ref),
      ]);
      return rows.map((row) => ({
        ...{ accountId: Number(row.account_id), ref: Buffer.from(row.ref), channel: row.channel },
        ...{ userId: unescapeText(row.user_id), messageId: unescapeText(row.message_id) },
        ...{ campaignId: Number(row.campaign_id), templateId: Number(row.template_id) },
        ...{ category: row.category, variantId: row.variant_id },
        ...{ isOpened: row.is_opened, isOpenedByPerson: row.is_person },
      }));
    },
    mark: async (opens) => {
      await database.query(MARK, [
        opens.map(({ accountId }) => accountId),
        opens.map(({ ref }) => ref),
        opens.map(({ openedAt }) => openedAt),
        opens.map(({ personAt }) => personAt ?? null),
      ]);
    },
  };
}
