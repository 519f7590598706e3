import type { ClickHouseClient } from '@clickhouse/client';
import { dayText, tehranDay } from '../../events/tehran-time.ts';
import { SqlParams } from '../../platform/clickhouse/sql.ts';
import { readRows } from '../../platform/clickhouse/rows.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';

/**
 * The list of events covers this many days in Tehran, today included, and this many names
 * (management 2.4).
 */
const DAYS = 90;
const MAX_NAMES = 500;
/** Clients choose the names, so their number is unbounded; the lists are bounded. */
const MAX_TRAITS = 1000;
/** Keys of one event: as many as one event may have (ingest 2.3). */
const MAX_KEYS = 256;
/** Bytes of the keys of all events; events of less volume are listed without keys. */
const MAX_KEY_BYTES = 2 ** 20;

export interface SchemaQuery {
  accountId: number;
  /** ms since the epoch. */
  now: number;
  signal: AbortSignal;
}

export interface EventName {
  name: string;
  volume: number;
  prop_keys?: string[];
  /** Day in Tehran. */
  last_seen?: string;
}

export interface TraitName {
  name: string;
  kind: 'string' | 'number';
  users: number;
}

/** The queries of GET /v1/schema/*. Both reject when ClickHouse fails. */
export interface ReadSchema {
  events(query: SchemaQuery): Promise<EventName[]>;
  traits(query: SchemaQuery): Promise<TraitName[]>;
}

/**
 * Reads the event names from `event_catalogue`, without a scan of the events, and the traits from
 * the view `people`.
 */
export function schemaQueries(client: ClickHouseClient): ReadSchema {
  return {
    async events({ accountId, now, signal }) {
      const params = new SqlParams();
      const first = dayText(tehranDay(now) - DAYS + 1);
      const names = `SELECT event AS name, sum(count) AS volume, arraySort(groupUniqArrayArray(${MAX_KEYS})(prop_keys)) AS keys,
          max(last_seen) AS seen, sum(arraySum(key -> length(key) + 3, keys)) OVER (ORDER BY volume DESC, name) AS bytes
        FROM event_catalogue FINAL WHERE account_id = ${params.whole(accountId)} AND day >= toDate(${params.text(first)})
        GROUP BY name ORDER BY volume DESC, name LIMIT ${MAX_NAMES}`;
      const sql = `SELECT name, volume, if(bytes <= ${MAX_KEY_BYTES}, keys, []) AS prop_keys, toString(toDate(seen, 'Asia/Tehran')) AS last_seen
        FROM (${names}) ORDER BY volume DESC, name`;
      const rows = await readRows<Required<EventName>>({
        client: onAccount(client, accountId),
        sql,
        params: params.values(),
        signal,
      });
      return rows.map(({ prop_keys, ...row }) =>
        prop_keys.length === 0
          ? row
          : { name: row.name, volume: row.volume, prop_keys, last_seen: row.last_seen },
      );
    },
    traits({ accountId, signal }) {
      const params = new SqlParams();
      const sql = `SELECT name, if(max(is_number), 'number', 'string') AS kind, count() AS users
        FROM (SELECT arrayJoin(arrayMap(key -> (key, mapContains(trait_numbers, key)), mapKeys(traits))) AS pair, pair.1 AS name, pair.2 AS is_number
          FROM people WHERE account_id = ${params.whole(accountId)})
        GROUP BY name ORDER BY users DESC, name LIMIT ${MAX_TRAITS}`;
      return readRows<TraitName>({
        ...{ client: onAccount(client, accountId), sql, signal },
        params: params.values(),
      });
    },
  };
}
