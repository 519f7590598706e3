import type { ClickHouseClient } from '@clickhouse/client';
import type { Database } from '../../platform/postgres/pool.ts';
import { RebuildImpossible, type RebuildTarget } from '../rebuild-target.ts';
import { distinctIds, type AliasFact } from './alias-fact.ts';
import { publishPeople } from './flat-table.ts';
import { applyAliases } from './apply-aliases.ts';
import { whyIgnored, type Decisions } from './decisions.ts';
import { decisionsOf, postgresIdentities, type PairRow, type UndoRow } from './postgres-store.ts';
import { aliasOf } from './read-aliases.ts';
import { mergeAliases } from './merge.ts';

/** A rebuild keeps every alias of the log in memory, about 200 bytes each. */
const MAX_FACTS = 4_000_000;
const ROWS_PER_INSERT = 50_000;
const FACTS_PER_MERGE = 2000;

export interface IdentitiesTarget extends RebuildTarget {
  /** Adds aliases that PostgreSQL lacks, then updates the live table accordingly. */
  repairStore(options: { cluster: string }): Promise<void>;
}

/**
 * Fills a table like `identities_flat` from the aliases of the log and the decisions in PostgreSQL.
 * `add` rejects with RebuildImpossible when the log holds more aliases than fit into memory.
 */
export function identitiesTarget(options: {
  client: ClickHouseClient;
  database: Database;
  table: string;
}): IdentitiesTarget {
  const { client, database, table } = options;
  const factsByAccount = new Map<number, AliasFact[]>();
  let count = 0;
  return {
    add({ rows }) {
      for (const row of rows) {
        const alias = aliasOf(row);
        if (!alias) continue;
        if (++count > MAX_FACTS)
          return Promise.reject(
            new RebuildImpossible(
              `The log holds more than ${MAX_FACTS} aliases: they do not fit into the memory of this command.`,
            ),
          );
        const own = factsByAccount.get(alias.accountId);
        if (own) own.push(alias.fact);
        else factsByAccount.set(alias.accountId, [alias.fact]);
      }
      return Promise.resolve();
    },
    async flush() {
      let unsent: object[] = [];
      const send = async () => {
        const values = unsent;
        unsent = [];
        if (values.length > 0)
          await client.insert({
            table,
            values,
            format: 'JSONEachRow',
            columns: ['account_id', 'name', 'canonical', 'version'],
            clickhouse_settings: { async_insert: 0 },
          });
      };
      for (const [accountId, facts] of factsByAccount) {
        const { decisions, revision } = await readAccount(database, accountId);
        for (const [name, canonical] of canonicalIds(facts, decisions)) {
          unsent.push({ account_id: accountId, name, canonical, version: revision });
          if (unsent.length >= ROWS_PER_INSERT) await send();
        }
      }
      await send();
    },
    async repairStore({ cluster }) {
      const store = postgresIdentities(database);
      for (const [accountId, facts] of factsByAccount) {
        for (let from = 0; from < facts.length; from += FACTS_PER_MERGE)
          await applyAliases(store, accountId, facts.slice(from, from + FACTS_PER_MERGE));
        await publishPeople({ store, client, table: 'identities_flat', cluster }, accountId);
      }
    },
  };
}

/**
 * The canonical id of every distinct id that an alias of the account mentions: the content of
 * identities_flat.
 */
export function canonicalIds(
  facts: readonly AliasFact[],
  decisions: Decisions,
): Map<string, string> {
  const result = mergeAliases(facts.filter((fact) => whyIgnored(fact, decisions) === undefined));
  if (result.kind === 'incomplete')
    throw new Error('the merge needs facts that the account does not have');
  return new Map(distinctIds(facts).map((id) => [id, result.canonicalOf(id)]));
}

async function readAccount(
  database: Database,
  accountId: number,
): Promise<{ decisions: Decisions; revision: number }> {
  const undos = await database.query<UndoRow>(
    'SELECT previous_id, until, decided_at FROM alias_undos WHERE account_id = $1',
    [accountId],
  );
  const pairs = await database.query<PairRow>(
    'SELECT name, other, apart, decided_at FROM alias_pairs WHERE account_id = $1',
    [accountId],
  );
  const account = await database.query<{ revision: string }>(
    'SELECT revision FROM identity_accounts WHERE account_id = $1',
    [accountId],
  );
  return {
    decisions: decisionsOf(undos.rows, pairs.rows),
    revision: Math.max(1, Number(account.rows[0]?.revision ?? 1)),
  };
}
