import type { ClickHouseClient } from '@clickhouse/client';
import type { Database } from '../../platform/postgres/pool.ts';
import type { AliasFact } from '../../projections/identities/alias-fact.ts';
import { publishPeople } from '../../projections/identities/flat-table.ts';
import { joinFacts } from '../../projections/identities/join.ts';
import { nameOf } from '../../projections/identities/name-text.ts';
import { postgresIdentities } from '../../projections/identities/postgres-store.ts';
import { aliasOf } from '../../projections/identities/read-aliases.ts';
import { flatNames } from '../../projections/identities/rebuild.ts';
import { Refusal } from '../../cli/command.ts';
import type { Target } from './target.ts';

/** All aliases of the log are in memory, some 200 bytes each. */
const MOST_FACTS = 4_000_000;
const ROWS_AN_INSERT = 50_000;
const MOST_JOINED = 2000;

export interface IdentitiesTarget extends Target {
  /**
   * Takes into PostgreSQL what it lacks of the aliases of the log, and brings the live table up to
   * that.
   */
  repairFacts(options: { cluster: string }): Promise<void>;
}

/** Fills a table like `identities_flat` from the aliases of the log and the undos that stand. */
export function identitiesTarget(options: {
  client: ClickHouseClient;
  database: Database;
  table: string;
}): IdentitiesTarget {
  const { client, database, table } = options;
  const facts = new Map<number, AliasFact[]>();
  let count = 0;
  return {
    take({ rows }) {
      for (const row of rows) {
        const alias = aliasOf(row);
        if (!alias) continue;
        if (++count > MOST_FACTS)
          throw new Refusal(
            `the log holds more than ${MOST_FACTS} aliases, which this command does not take into memory`,
          );
        const own = facts.get(alias.accountId);
        if (own) own.push(alias.fact);
        else facts.set(alias.accountId, [alias.fact]);
      }
      return Promise.resolve();
    },
    async flush() {
      let values: object[] = [];
      const send = async () => {
        const sent = values;
        values = [];
        if (sent.length > 0)
          await client.insert({
            table,
            values: sent,
            format: 'JSONEachRow',
            columns: ['account_id', 'name', 'canonical', 'version'],
            clickhouse_settings: { async_insert: 0 },
          });
      };
      for (const [accountId, own] of facts) {
        const { undone, revision } = await readUndos(database, accountId);
        for (const [name, canonical] of flatNames(own, undone)) {
          values.push({ account_id: accountId, name, canonical, version: revision });
          if (values.length >= ROWS_AN_INSERT) await send();
        }
      }
      await send();
    },
    async repairFacts({ cluster }) {
      const store = postgresIdentities(database);
      for (const [accountId, own] of facts) {
        for (let from = 0; from < own.length; from += MOST_JOINED)
          await joinFacts(store, accountId, own.slice(from, from + MOST_JOINED));
        await publishPeople({ store, client, table: 'identities_flat', cluster }, accountId);
      }
    },
  };
}

async function readUndos(
  database: Database,
  accountId: number,
): Promise<{ undone: Map<string, number>; revision: number }> {
  const undos = await database.query<{ previous_id: string; until: string }>(
    'SELECT previous_id, until FROM alias_undos WHERE account_id = $1',
    [accountId],
  );
  const account = await database.query<{ revision: string }>(
    'SELECT revision FROM identity_accounts WHERE account_id = $1',
    [accountId],
  );
  return {
    undone: new Map(
      undos.rows.map(({ previous_id, until }) => [nameOf(previous_id), Number(until)]),
    ),
    revision: Math.max(1, Number(account.rows[0]?.revision ?? 1)),
  };
}
