import type { ClickHouseClient } from '@clickhouse/client';
import type { Database } from '../../platform/postgres/pool.ts';
import type { IdentityStore } from './store.ts';
import { QUORUM_INSERT } from '../../platform/clickhouse/replicas.ts';

/** Rows of identities_flat in one insert. */
const ROWS_PER_INSERT = 50_000;

/**
 * Writes the rows that identities_flat lacks up to the account's revision. Each row contains its
 * revision as the version, so a late older row replaces nothing. Rejects when a store does not
 * answer; harmless when repeated.
 */
export async function publishPeople(
  options: { store: IdentityStore; client: ClickHouseClient; table: string; cluster: string },
  accountId: number,
): Promise<void> {
  const { store, client, table, cluster } = options;
  const { upTo, rows } = await store.unpublished(accountId);
  for (let from = 0; from < rows.length; from += ROWS_PER_INSERT) {
    await client.insert({
      table,
      values: rows
        .slice(from, from + ROWS_PER_INSERT)
        .map(({ distinctId, canonicalId, revision }) => ({
          account_id: accountId,
          name: distinctId,
          canonical: canonicalId,
          version: revision,
        })),
      format: 'JSONEachRow',
      columns: ['account_id', 'name', 'canonical', 'version'],
      clickhouse_settings: {
        async_insert: 0,
        ...(cluster === '' ? {} : QUORUM_INSERT),
      },
    });
  }
  await store.markPublished(accountId, upTo);
}

/**
 * Raises the revision of each account to the highest version in identities_flat: PostgreSQL was
 * restored to an earlier point, and rows with a lower version would replace nothing. Resolves with
 * the accounts.
 */
export async function advanceRevisions({
  client,
  database,
  table,
}: {
  client: ClickHouseClient;
  database: Database;
  table: string;
}): Promise<number[]> {
  const answer = await client.query({
    query: `SELECT account_id, max(version) AS version FROM ${table} GROUP BY account_id`,
    format: 'JSONCompactEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
  });
  const versions = await answer.json<[accountId: number, version: number]>();
  const { rows } = await database.query<{ account_id: string }>(
    `INSERT INTO identity_accounts (account_id, revision) SELECT * FROM unnest($1::bigint[], $2::bigint[])
     ON CONFLICT (account_id) DO UPDATE SET revision = excluded.revision WHERE identity_accounts.revision < excluded.revision
     RETURNING account_id`,
    [versions.map(([accountId]) => accountId), versions.map(([, version]) => version)],
  );
  return rows.map(({ account_id }) => Number(account_id));
}
