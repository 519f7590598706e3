import type { WebhookSource } from '../../events/webhooks/sources.ts';
import { changeWithAudit, type Store } from '../store.ts';
import type { ConnectionRow } from './view.ts';

export interface SavedConnection {
  accountId: number;
  memberId: number;
  source: WebhookSource;
  label: string;
  /** For a new connection. */
  token: string;
  /** Undefined keeps the stored one. */
  sealed: Buffer | undefined;
}

/**
 * Webhook connections of an account. A change and its audit line are one statement. Rejects with
 * StoreUnavailable.
 */
export interface WebhookConnectionStore {
  list(accountId: number): Promise<ConnectionRow[]>;
  save(connection: SavedConnection): Promise<ConnectionRow>;
  /** Undefined: the account has no connection of this source. */
  setEnabled(change: {
    accountId: number;
    memberId: number;
    source: WebhookSource;
    enabled: boolean;
  }): Promise<ConnectionRow | undefined>;
}

type Columns = Omit<ConnectionRow, 'id' | 'received' | 'accepted' | 'rejected'> &
  Record<'id' | 'received' | 'accepted' | 'rejected', string>;

const COLUMNS =
  'c.id, c.source, c.label, c.token, c.secret IS NOT NULL AS has_secret, c.enabled, c.received, c.accepted, c.rejected, c.last_error';
const AUDITED = 'c.account_id, c.id AS audit_id';

/** Events of a connection belong to its app: the account's oldest one at the first save. */
const SAVE = `INSERT INTO webhook_connections AS c (account_id, app_id, source, label, token, secret)
  VALUES ($1, (SELECT min(id) FROM apps WHERE account_id = $1), $2, $3, $4, $5)
  ON CONFLICT (account_id, source) DO UPDATE SET label = excluded.label, secret = coalesce(excluded.secret, c.secret),
    app_id = coalesce(c.app_id, excluded.app_id), updated_at = clock_timestamp()
  RETURNING ${COLUMNS}, ${AUDITED}`;

const SWITCH = `UPDATE webhook_connections c SET enabled = $3, updated_at = clock_timestamp()
  WHERE c.account_id = $1 AND c.source = $2 RETURNING ${COLUMNS}, ${AUDITED}`;

export function webhookConnectionStore(store: Store): WebhookConnectionStore {
  return {
    async list(accountId) {
      const { rows } = await store.query<Columns>(
        `SELECT ${COLUMNS} FROM webhook_connections c WHERE c.account_id = $1 ORDER BY c.id`,
        [accountId],
      );
      return rows.map(rowOf);
    },
    async save({ accountId, memberId, source, label, token, sealed }) {
      const [row] = await changeWithAudit<Columns>(store, {
        statement: SAVE,
        values: [accountId, source, label, token, sealed ?? null],
        record: {
          action: 'integration.saved',
          memberId,
          idField: 'integration_id',
          details: { source, secret: sealed ? 'set' : 'kept' },
        },
      });
      if (!row) throw new Error('PostgreSQL returned no row for a saved connection');
      return rowOf(row);
    },
    async setEnabled({ accountId, memberId, source, enabled }) {
      const [row] = await changeWithAudit<Columns>(store, {
        statement: SWITCH,
        values: [accountId, source, enabled],
        record: {
          action: enabled ? 'integration.enabled' : 'integration.disabled',
          memberId,
          idField: 'integration_id',
          details: { source },
        },
      });
      return row && rowOf(row);
    },
  };
}

function rowOf({
  id,
  source,
  label,
  token,
  has_secret,
  enabled,
  received,
  accepted,
  rejected,
  last_error,
}: Columns): ConnectionRow {
  const counts = {
    received: Number(received),
    accepted: Number(accepted),
    rejected: Number(rejected),
  };
  return { id: Number(id), source, label, token, has_secret, enabled, ...counts, last_error };
}
