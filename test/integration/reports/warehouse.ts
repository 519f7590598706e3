import type { ClickHouseClient, DataFormat, QueryParams } from '@clickhouse/client';
import { PROFILE_COLUMNS } from '../../../events/traits.ts';
import { planningOf } from '../../../account-api/reports/planning.ts';
import type { Dataset } from '../../../account-api/reports/testing/dataset.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { eventColumns, openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

/** The tables that reports read, with the live schema, in a database of a test's own. */
export interface Warehouse {
  client: ClickHouseClient;
  /** Adds datasets under the accounts 1, 2, … */
  load: (datasets: readonly Dataset[]) => Promise<void>;
  close: () => Promise<void>;
}

const DDL = [...EVENTS_DDL, 'projections/identities/ddl/0004_identities_flat.sql'];
/** A table in place of the view `people` (reports: People), so that tests can fill it. */
const PEOPLE = `CREATE TABLE people (
    account_id UInt64, person String, traits Map(String, String),
    trait_numbers Map(String, Float64),
    ${PROFILE_COLUMNS.map((column) => `${column} String`).join(', ')}
  ) ENGINE = MergeTree ORDER BY (account_id, person)`;

export async function openWarehouse(name: string): Promise<Warehouse> {
  const database = await openTestDatabase(name, { ddl: DDL, tables: [PEOPLE] });
  return {
    client: planning(database.client),
    load: (datasets) => loadDatasets(database, datasets),
    close: database.close,
  };
}

/** The same client, whose queries are planned as those of reports are. */
function planning(client: ClickHouseClient): ClickHouseClient {
  const query = <Format extends DataFormat>(params: QueryParams & { format?: Format }) =>
    client.query<Format>({
      ...params,
      clickhouse_settings: { ...planningOf(params.query), ...params.clickhouse_settings },
    });
  return Object.assign(Object.create(client) as ClickHouseClient, { query });
}

async function loadDatasets({ insert }: TestDatabase, datasets: readonly Dataset[]): Promise<void> {
  const accounts = datasets.map((dataset, at) => ({ dataset, account_id: at + 1 }));
  await insert(
    'events',
    accounts.flatMap(({ dataset, account_id }) =>
      dataset.events.map((event) => ({ ...eventColumns(event), account_id })),
    ),
  );
  await insert(
    'identities_flat',
    accounts.flatMap(({ dataset, account_id }) =>
      [...dataset.canonical].map(([name, canonical]) => ({ account_id, name, canonical })),
    ),
  );
  await insert(
    'people',
    accounts.flatMap(({ dataset, account_id }) =>
      [...dataset.people].map(([person, { traits, trait_numbers, columns }]) => ({
        ...{ account_id, person, traits, trait_numbers },
        ...columns,
      })),
    ),
  );
}
