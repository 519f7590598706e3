import type { WebhookSource } from '../../events/webhooks/sources.ts';
import { changeWithAudit, type Store } from '../store.ts';
import type { ConnectionRow } from './view.ts';

interface SavedConnection {
  accountId: number;
  memberId: number;
  source: WebhookSource;
  label: string;
  /** For a new connection. */
  token: string;
  /** Undefined keeps the stored one. */
  sealed: Buffer | undefined;
}

type EnabledChange = Pick<SavedConnection, 'accountId' | 'memberId' | 'source'> & {
  enabled: boolean;
};

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

/** Webhook connections; a change and its audit line are one statement. */
export function webhookConnectionStore(store: Store) {
  return {
    async list(accountId: number): Promise<ConnectionRow[]> {
      const { rows } = await store.query<Columns>(
        `SELECT ${COLUMNS} FROM webhook_connections c WHERE c.account_id = $1 ORDER BY c.id`,
        [accountId],
      );
      return rows.map(rowOf);
    },
    async save({
      accountId,
      memberId,
      source,
      label,
      token,
      sealed,
    }: SavedConnection): Promise<ConnectionRow> {
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
    /** Undefined: the account has no connection of this source. */
    async setEnabled({
      accountId,
      memberId,
      source,
      enabled,
    }: EnabledChange): Promise<ConnectionRow | undefined> {
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

export type WebhookConnectionStore = ReturnType<typeof webhookConnectionStore>;

function rowOf(row: Columns): ConnectionRow {
  const { source, label, token, has_secret, enabled, last_error } = row;
  return {
    ...{ id: Number(row.id), source, label, token, has_secret, enabled },
    received: Number(row.received),
    accepted: Number(row.accepted),
    rejected: Number(row.rejected),
    last_error,
  };
}
