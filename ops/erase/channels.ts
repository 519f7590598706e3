import { publishTouched } from '../../projections/addresses/publish-states.ts';
import type { Connections } from '../jobs/connections.ts';
import {
  addressesOf,
  laterAddresses,
  removeChannels,
  restoreHolders,
  type ChannelAddress,
  type ChannelPerson,
  type RemovedChannels,
} from './channel-rows.ts';
import type { ClickhouseRows } from './clickhouse-rows.ts';

interface Servers {
  clickhouse: Pick<Connections['clickhouse'], 'insert'>;
  database: Pick<Connections['database'], 'query'>;
  settings: { readonly CLICKHOUSE_CLUSTER: string };
}

/**
 * Removes the person from everything that commands of channels left. May be repeated: the
 * addresses are recorded, as hashes, before anything that leads to them is removed. ClickHouse goes
 * first: what PostgreSQL still holds is found again.
 */
export async function eraseChannels(
  { clickhouse, database, settings }: Servers,
  {
    person,
    rows,
    record,
  }: {
    person: ChannelPerson;
    rows: Pick<ClickhouseRows, 'reachedByOthers' | 'addressesWhere' | 'tables' | 'delete'>;
    /** Stores which addresses only the person had. */
    record: (own: readonly ChannelAddress[]) => Promise<void>;
  },
): Promise<RemovedChannels> {
  const { accountId } = person;
  const known = await addressesOf(database, person);
  const shared = await rows.reachedByOthers(
    person,
    known.map(({ address }) => address),
  );
  const own = known.filter(({ address }) => !shared.has(address));
  await record(own);
  const where = await rows.addressesWhere(person, own);
  for (const table of await rows.tables('addresses')) await rows.delete(table, where);
  const removed = await removeChannels(database, person, own);
  const tokens = await restoreHolders(database, accountId);
  const later = await laterAddresses(database, person);
  const cluster = settings.CLICKHOUSE_CLUSTER;
  await publishTouched(
    { database, clickhouse, cluster },
    {
      addresses: later.map(({ channel, address: address_id }) => ({
        ...{ account_id: accountId, channel, address_id },
      })),
      users: [],
      tokens: tokens.map((token_hash) => ({ account_id: accountId, token_hash })),
    },
  );
  return removed;
}
