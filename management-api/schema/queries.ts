import type { ClickHouseClient } from '@clickhouse/client';
import { dayText, tehranDay } from '../../events/tehran-time.ts';
import { SqlParams } from '../warehouse/sql.ts';
import { readRows } from '../warehouse/rows.ts';

/**
 * How many days of Tehran the list of events looks back, today among them, and how many names it
 * shows (management 2.4).
 */
const DAYS = 90;
const MAX_NAMES = 500;
/** Names are the client's own and unbounded; lists are not. */
const MAX_KEYS = 1000;

export interface SchemaQuestion {
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

/** What GET /v1/schema/* asks of the warehouse; both reject when it cannot answer. */
export interface ReadSchema {
  events(question: SchemaQuestion): Promise<EventName[]>;
  traits(question: SchemaQuestion): Promise<TraitName[]>;
}

/**
 * Reads the catalogue of events from `event_catalogue`, without touching the events, and that of
 * traits from the view `people`.
 */
export function schemaQueries(client: ClickHouseClient): ReadSchema {
  return {
    async events({ accountId, now, signal }) {
      const params = new SqlParams();
      const first = dayText(tehranDay(now) - DAYS + 1);
      const sql = `SELECT event AS name, sum(count) AS volume, arraySort(groupUniqArrayArray(${MAX_KEYS})(prop_keys)) AS prop_keys, toString(toDate(max(last_seen), 'Asia/Tehran')) AS last_seen
        FROM event_catalogue FINAL WHERE account_id = ${params.whole(accountId)} AND day >= toDate(${params.text(first)})
        GROUP BY name ORDER BY volume DESC, name LIMIT ${MAX_NAMES}`;
      const rows = await readRows<Required<EventName>>({
        client,
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
        GROUP BY name ORDER BY users DESC, name LIMIT ${MAX_KEYS}`;
      return readRows<TraitName>({ client, sql, params: params.values(), signal });
    },
  };
}
