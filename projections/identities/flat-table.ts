import type { ClickHouseClient } from '@clickhouse/client';
import type { IdentityStore } from './store.ts';

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
        ...(cluster === '' ? {} : { distributed_foreground_insert: '1', insert_quorum: 'auto' }),
      },
    });
  }
  await store.markPublished(accountId, upTo);
}
