import type {
  ClickHouseClient,
  ClickHouseSettings,
  DataFormat,
  QueryParams,
} from '@clickhouse/client';

interface Limited {
  /** Settings that a query cannot override. */
  limits: () => Promise<ClickHouseSettings>;
  /**
   * Of ClickHouse, 1 is the first: a query pauses while one of a smaller number reads. Inserts have
   * none and are not paused.
   */
  priority: number;
}

/** The limits as settings of a query. */
export async function limitsOf({ limits, priority }: Limited): Promise<ClickHouseSettings> {
  return { ...(await limits()), priority: String(priority) };
}

/** The same client, whose queries run within these limits. */
export function limitedClient(
  client: ClickHouseClient,
  { limits, priority }: Limited,
): ClickHouseClient {
  const query = async <Format extends DataFormat>(params: QueryParams & { format?: Format }) =>
    client.query<Format>({
      ...params,
      clickhouse_settings: {
        ...params.clickhouse_settings,
        ...(await limitsOf({ limits, priority })),
      },
    });
  return Object.assign(Object.create(client) as ClickHouseClient, { query });
}
