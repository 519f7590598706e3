import type { ClickHouseClient } from '@clickhouse/client';
import { compareWriteOrder } from '../../events/write-order.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { RebuildImpossible, type RebuildTarget } from '../rebuild-target.ts';
import { AliasFiles } from './alias-files.ts';
import { distinctIds, type AliasFact } from './alias-fact.ts';
import { publishPeople } from './flat-table.ts';
import { applyAliases, applyDecision } from './apply-aliases.ts';
import {
  addDecision,
  noDecisions,
  whyIgnored,
  type Decision,
  type Decisions,
} from './decisions.ts';
import { postgresIdentities } from './postgres-store.ts';
import { aliasOf } from './read-aliases.ts';
import { mergeAliases } from './merge.ts';

/** Different aliases of one account that are merged in memory, about 300 bytes each. */
const MAX_PAIRS = 6_000_000;
const ROWS_PER_INSERT = 50_000;
const FACTS_PER_MERGE = 2000;

export interface IdentitiesTarget extends RebuildTarget {
  /**
   * Adds aliases and decisions of the log that PostgreSQL lacks, for instance because it was
   * restored to an earlier point, then updates the live table accordingly.
   */
  repairStore(options: { cluster: string }): Promise<void>;
  /** Deletes the temporary files. */
  close(): Promise<void>;
}

/**
 * Fills a table like `identities_flat` from the aliases and the decisions of the log, one account
 * after the other. `flush` rejects with RebuildImpossible when one account has too many different
 * aliases.
 */
export function identitiesTarget(options: {
  client: ClickHouseClient;
  database: Database;
  table: string;
  readDecisions: () => Promise<ReadonlyMap<number, readonly Decision[]>>;
}): IdentitiesTarget {
  const { client, database, table, readDecisions } = options;
  const files = new AliasFiles();
  return {
    async add({ rows }) {
      for (const row of rows) {
        const alias = aliasOf(row);
        if (alias) await files.add(alias.accountId, alias.fact);
      }
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
      const decided = await readDecisions();
      for (const accountId of files.accounts) {
        const decisions = noDecisions();
        for (const decision of decided.get(accountId) ?? []) addDecision(decisions, decision);
        const version = await revisionOf(database, accountId);
        const people = await canonicalIds(files.of(accountId), decisions, accountId);
        for (const [name, canonical] of people) {
          unsent.push({ account_id: accountId, name, canonical, version });
          if (unsent.length >= ROWS_PER_INSERT) await send();
        }
      }
      await send();
    },
    async repairStore({ cluster }) {
      const store = postgresIdentities(database);
      const decided = await readDecisions();
      for (const accountId of files.accounts) {
        let facts: AliasFact[] = [];
        for await (const fact of files.of(accountId)) {
          facts.push(fact);
          if (facts.length < FACTS_PER_MERGE) continue;
          await applyAliases(store, accountId, facts);
          facts = [];
        }
        await applyAliases(store, accountId, facts);
        for (const decision of decided.get(accountId) ?? [])
          await applyDecision(store, accountId, decision);
        await publishPeople({ store, client, table: 'identities_flat', cluster }, accountId);
      }
    },
    close: () => files.remove(),
  };
}

/**
 * The canonical id of every distinct id that an alias of the account mentions: the content of
 * identities_flat. Of equal aliases the first that counts decides alone: while its previous_id is a
 * root the same alias would close the same cycle again.
 */
export async function canonicalIds(
  facts: AsyncIterable<AliasFact> | Iterable<AliasFact>,
  decisions: Decisions,
  accountId = 0,
): Promise<Map<string, string>> {
  const first = new Map<string, AliasFact>();
  const names = new Set<string>();
  for await (const fact of facts) {
    for (const name of distinctIds([fact])) names.add(name);
    if (whyIgnored(fact, decisions) !== undefined) continue;
    const key = `${fact.previousId.length}:${fact.previousId}${fact.userId}`;
    const known = first.get(key);
    if (!known || compareWriteOrder(fact.order, known.order) < 0) first.set(key, fact);
    if (first.size > MAX_PAIRS)
      throw new RebuildImpossible(
        `Account ${accountId} has more than ${MAX_PAIRS} different aliases: they do not fit into the memory of this command.`,
      );
  }
  const result = mergeAliases([...first.values()]);
  if (result.kind === 'incomplete')
    throw new Error('the merge needs facts that the account does not have');
  return new Map([...names].map((id) => [id, result.canonicalOf(id)]));
}

async function revisionOf(database: Database, accountId: number): Promise<number> {
  const { rows } = await database.query<{ revision: string }>(
    'SELECT revision FROM identity_accounts WHERE account_id = $1',
    [accountId],
  );
  return Math.max(1, Number(rows[0]?.revision ?? 1));
}
