import type { ClickHouseClient } from '@clickhouse/client';

const HOSTS = Symbol('hosts');

/** The same client, which knows a client of each of its hosts; they are closed with it. */
export function withHosts(
  client: ClickHouseClient,
  hosts: readonly ClickHouseClient[],
): ClickHouseClient {
  return Object.assign(Object.create(client) as ClickHouseClient, {
    [HOSTS]: hosts,
    close: async () => {
      await Promise.all([client, ...hosts].map((one) => one.close()));
    },
  });
}

/**
 * A client of each host, for what must reach the one that runs a query; of one host the client
 * itself. What it runs is neither limited nor killed by wrappers of the client.
 */
export function eachHost(client: ClickHouseClient): readonly ClickHouseClient[] {
  return (
    (client as ClickHouseClient & { [HOSTS]?: readonly ClickHouseClient[] })[HOSTS] ?? [client]
  );
}
