import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { escapeText } from '../../../platform/postgres/escaped-text.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { PAGE, textOf, type AddressKey } from './clickhouse-addresses.ts';
import { compareClickhouse, repairClickhouse } from './compare-clickhouse.ts';

/** ClickHouse's addresses in memory. */
class Held {
  readonly #rows = new Map<string, { key: AddressKey; state: string }>();

  set(key: AddressKey, state: string): void {
    this.#rows.set(textOf(key), { key, state });
  }
  delete(key: AddressKey): void {
    this.#rows.delete(textOf(key));
  }
  states(keys: readonly AddressKey[]): Promise<Map<string, string>> {
    const known = keys.flatMap((key) => {
      const row = this.#rows.get(textOf(key));
      return row ? [[textOf(key), row.state] as const] : [];
    });
    return Promise.resolve(new Map(known));
  }
  after(last: AddressKey | undefined): Promise<AddressKey[]> {
    const all = [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1));
    const later = all.filter(([text]) => last === undefined || text > textOf(last));
    return Promise.resolve(later.slice(0, PAGE).map(([, { key }]) => key));
  }
  remove(keys: readonly AddressKey[]): Promise<void> {
    for (const key of keys) this.delete(key);
    return Promise.resolve();
  }
}

interface Inserted extends AddressKey {
  name: string;
  active: boolean;
}

let migrated: MigratedDatabase;
let held: Held;
beforeAll(async () => {
  migrated = await migratedDatabase(['0050']);
}, 60_000);
afterAll(() => migrated.close());
beforeEach(async () => {
  held = new Held();
  await migrated.database.query('DELETE FROM channel_addresses');
});

const stores = () => ({
  ...{ database: migrated.database, cluster: '', addresses: held },
  clickhouse: {
    insert: ({ values }: { values: unknown }) => {
      for (const { name, active, account_id, channel, address_id } of values as Inserted[])
        held.set({ account_id, channel, address_id }, `${active ? 1 : 0} ${name}`);
      return Promise.resolve({ executed: true, query_id: '', response_headers: {} });
    },
  },
});
const options = () => ({
  ...{ againAfter: 1, signal: new AbortController().signal, onProgress: () => undefined },
});
const compare = () => compareClickhouse(stores(), options());
const key = (address_id: string): AddressKey => ({ account_id: 1, channel: 'web', address_id });

async function register(...ids: readonly string[]): Promise<void> {
  await migrated.database.query(
    `INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, received_at, gateway, sequence)
     SELECT 1, 'web', id, 0, 'u', '', 1, 'g', 1 FROM unnest($1::text[]) AS id`,
    [ids.map(escapeText)],
  );
}

it('Audiences’ addresses are compared with PostgreSQL and mended, in pages', async () => {
  const ids = ['a\\', 'b\0', ...Array.from({ length: PAGE + 5 }, (_, at) => `e${at}`)];
  await register(...ids);
  for (const id of ids.slice(0, -1)) held.set(key(id), '1 u');
  held.set(key('a\\'), '0 u');
  held.set(key('only here'), '1 u');
  const found = await compare();
  expect(found).toMatchObject({
    ...{ live: PAGE + 7, rebuilt: PAGE + 7, differing: 3, moved_on: 0 },
  });
  expect(found.examples).toHaveLength(3);
  const repaired = await repairClickhouse(stores(), options());
  expect(repaired).toBe(3);
  expect(await compare()).toMatchObject({ differing: 0, equal: PAGE + 7 });
});

it('What ClickHouse gets while it is compared has moved on', async () => {
  await register('a');
  const late = stores();
  let looks = 0;
  const addresses = {
    after: held.after.bind(held),
    remove: held.remove.bind(held),
    states(keys: readonly AddressKey[]) {
      if (++looks === 2) held.set(key('a'), '1 u');
      return held.states(keys);
    },
  };
  expect(await compareClickhouse({ ...late, addresses }, options())).toMatchObject({
    ...{ differing: 0, moved_on: 1 },
  });
});
