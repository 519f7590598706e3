import type { Subscription } from '../../events/quota.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** The settings of an account that the gateway uses. */
export interface AccountRow {
  id: number;
  /** Days; 0 keeps events for ever. */
  retentionDays: number;
  subscription: Subscription;
  /** Ceiling of accepted events in a Jalali month; 0 means none. */
  maxEvents: number;
}

/** A write key that is neither revoked nor of a suspended account. */
export interface KeyRow {
  writeKeyId: number;
  appId: number;
  account: AccountRow;
}

/** Reads keys and accounts; both reject when the store cannot be reached. */
export interface AccountStore {
  /** By the SHA-256 of the key, in hexadecimal digits. */
  keys(hashes: readonly string[]): Promise<Map<string, KeyRow>>;
  accounts(ids: readonly number[]): Promise<Map<number, AccountRow>>;
}

interface AccountColumns {
  account_id: string;
  retention_days: number;
  subscription: Subscription;
  max_events: string;
}

interface KeyColumns extends AccountColumns {
  hash: string;
  write_key_id: string;
  app_id: string;
}

const ACCOUNT_COLUMNS = 'a.id AS account_id, a.retention_days, a.subscription, a.max_events';

/** Longest wait of a request for the store, ms. */
export const STORE_DEADLINE = { ms: 3000, waitingFor: 'accounts and write keys in PostgreSQL' };

/** Accounts and write keys in PostgreSQL. */
export function connectAccountStore(database: Database): AccountStore {
  return {
    async keys(hashes) {
      const query = database.query<KeyColumns>(
        `SELECT encode(k.key_hash, 'hex') AS hash, k.id AS write_key_id, k.app_id, ${ACCOUNT_COLUMNS}
         FROM write_keys k JOIN accounts a ON a.id = k.account_id
         WHERE k.key_hash = ANY($1::bytea[]) AND k.revoked_at IS NULL AND a.status = 'active'`,
        [hashes.map((hash) => Buffer.from(hash, 'hex'))],
      );
      const { rows } = await withDeadline(STORE_DEADLINE, query);
      return new Map(
        rows.map((row) => [
          row.hash,
          {
            writeKeyId: Number(row.write_key_id),
            appId: Number(row.app_id),
            account: accountOf(row),
          },
        ]),
      );
    },
    async accounts(ids) {
      const query = database.query<AccountColumns>(
        `SELECT ${ACCOUNT_COLUMNS} FROM accounts a WHERE a.id = ANY($1::bigint[])`,
        [[...ids]],
      );
      const { rows } = await withDeadline(STORE_DEADLINE, query);
      return new Map(rows.map((row) => [Number(row.account_id), accountOf(row)]));
    },
  };
}

function accountOf(row: AccountColumns): AccountRow {
  return {
    id: Number(row.account_id),
    retentionDays: row.retention_days,
    subscription: row.subscription,
    maxEvents: Number(row.max_events),
  };
}
