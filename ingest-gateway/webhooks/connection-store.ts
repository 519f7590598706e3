import { isWebhookSource, type WebhookSource } from '../../events/webhooks/sources.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** A webhook connection as deliveries need it (ingest 2.8). */
export interface Connection {
  id: number;
  accountId: number;
  /** 0: the events belong to no app. */
  appId: number;
  source: WebhookSource;
  enabled: boolean;
  /** The sealed secret; null when none is stored. */
  sealed: Buffer | null;
}

/** The sums of one or more deliveries of a connection. */
export interface DeliveryCounts {
  received: number;
  accepted: number;
  rejected: number;
  /** Of the last delivery; empty after a success. */
  lastError: string;
}

/** Connections in PostgreSQL; every method rejects when it is unreachable. */
export interface ConnectionStore {
  /** Changes whenever what `byToken` answers may change. */
  revision(): Promise<string>;
  /** The connections of active accounts, by token. */
  byToken(tokens: readonly string[]): Promise<Map<string, Connection>>;
  add(counts: ReadonlyMap<number, DeliveryCounts>): Promise<void>;
}

interface Columns {
  token: string;
  id: string;
  account_id: string;
  app_id: string | null;
  source: string;
  enabled: boolean;
  secret: Buffer | null;
}

/** Longest wait of a delivery for the store, ms. */
const LOOKUP_DEADLINE = { ms: 3000, waitingFor: 'webhook connections in PostgreSQL' };

export function connectConnectionStore(database: Pick<Database, 'query'>): ConnectionStore {
  return {
    async revision() {
      const query = database.query<{ revision: string }>('SELECT revision FROM webhook_revision');
      const { rows } = await withDeadline(LOOKUP_DEADLINE, query);
      const [row] = rows;
      if (!row) throw new Error('the table webhook_revision is empty');
      return row.revision;
    },
    async byToken(tokens) {
      const query = database.query<Columns>(
        `SELECT c.token, c.id, c.account_id, c.app_id, c.source, c.enabled, c.secret
         FROM webhook_connections c JOIN accounts a ON a.id = c.account_id
         WHERE c.token = ANY($1::text[]) AND a.status = 'active'`,
        [[...tokens]],
      );
      const { rows } = await withDeadline(LOOKUP_DEADLINE, query);
      return new Map(
        rows.flatMap((row) =>
          isWebhookSource(row.source) ? [[row.token, connectionOf(row, row.source)] as const] : [],
        ),
      );
    },
    async add(counts) {
      const all = [...counts].toSorted(([a], [b]) => a - b);
      // The rows are locked in the order of their ids, because two gateways that lock each other's
      // rows in different orders would wait for each other.
      await database.query(
        `WITH locked AS (SELECT id FROM webhook_connections WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE)
         UPDATE webhook_connections c
         SET received = c.received + t.received, accepted = c.accepted + t.accepted, rejected = c.rejected + t.rejected, last_error = t.last_error
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) AS t (id, received, accepted, rejected, last_error)
           JOIN locked ON locked.id = t.id
         WHERE c.id = t.id`,
        [
          all.map(([id]) => id),
          all.map(([, one]) => one.received),
          all.map(([, one]) => one.accepted),
          all.map(([, one]) => one.rejected),
          all.map(([, one]) => one.lastError),
        ],
      );
    },
  };
}

function connectionOf(row: Columns, source: WebhookSource): Connection {
  const { enabled, secret } = row;
  return {
    id: Number(row.id),
    accountId: Number(row.account_id),
    appId: Number(row.app_id ?? 0),
    source,
    enabled,
    sealed: secret,
  };
}
