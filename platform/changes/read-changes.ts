import type { Database } from '../postgres/pool.ts';

/** An audit line, or a migration that ran. */
export interface Change {
  /** ms since the epoch */
  at: number;
  /** null: the installation */
  accountId: number | null;
  actor: string;
  action: string;
  details: Readonly<Record<string, unknown>>;
}

const LINES = `SELECT extract(epoch FROM at)::float8 * 1000 AS at, account_id::float8 AS "accountId", actor, action, details
  FROM audit_lines WHERE at >= to_timestamp($1 / 1000.0) AND ($2::bigint IS NULL OR account_id = $2) ORDER BY at DESC, id DESC LIMIT $3`;
const MIGRATIONS = `SELECT extract(epoch FROM ran_at)::float8 * 1000 AS at, name FROM schema_migrations
  WHERE ran_at >= to_timestamp($1 / 1000.0) ORDER BY ran_at DESC, name DESC LIMIT $2`;

/** The newest changes since a time, at most `limit`, oldest first. */
export async function readChanges(
  database: Pick<Database, 'query'>,
  { since, accountId, limit }: { since: number; accountId: number | undefined; limit: number },
): Promise<Change[]> {
  const lines = await database.query<Change>(LINES, [since, accountId ?? null, limit]);
  const migrations =
    accountId === undefined
      ? await database.query<{ at: number; name: string }>(MIGRATIONS, [since, limit])
      : { rows: [] };
  const ran = migrations.rows.map(({ at, name }): Change => ({
    ...{ at, accountId: null, actor: 'operator', action: 'migration.ran', details: { name } },
  }));
  return [...lines.rows, ...ran].sort((a, b) => a.at - b.at).slice(-limit);
}

const MAX_VALUE = 80;

/** Details in one line: `retention_days=30, before={"retention_days":365}`. */
export function detailsText(details: Change['details']): string {
  return Object.entries(details)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return `${name}=${text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text}`;
    })
    .join(', ');
}
