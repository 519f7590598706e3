import type { ClickHouseClient } from '@clickhouse/client';
import type { IdentityStore } from './store.ts';

/** Rows of identities_flat in one insert. */
const MOST_ROWS = 50_000;

/**
 * Brings identities_flat up to the account's revision. Rows carry the revision that they belong to,
 * so that an older one that comes late replaces nothing. Rejects when a store does not answer;
 * repeating is harmless.
 */
export async function publishPeople(
  options: { store: IdentityStore; client: ClickHouseClient; table: string; cluster: string },
  accountId: number,
): Promise<void> {
  const { store, client, table, cluster } = options;
  const { upTo, rows } = await store.unpublished(accountId);
  for (let from = 0; from < rows.length; from += MOST_ROWS) {
    await client.insert({
      table,
      values: rows.slice(from, from + MOST_ROWS).map(({ name, canonical, revision }) => ({
        account_id: accountId,
        name,
        canonical,
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
  await store.published(accountId, upTo);
}
