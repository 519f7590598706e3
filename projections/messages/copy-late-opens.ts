import type { ClickHouseClient } from '@clickhouse/client';
import { QUORUM_INSERT } from '../../platform/clickhouse/replicas.ts';
import { unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';

interface Stores {
  database: Pick<Database, 'query'>;
  clickhouse: Pick<ClickHouseClient, 'insert'>;
  /** CLICKHOUSE_CLUSTER */
  cluster: string;
}

interface Row {
  account_id: number;
  ref: Buffer;
  campaign_id: number;
  message_id: string;
  user_id: string;
  opened_at: number;
}

const ROWS = 1000;
const LATE = 'opened_by_person_at <> opened_at AND campaign_id <> 0 AND NOT late_open_copied';
const FIND = `SELECT account_id::float8, ref, campaign_id::float8, message_id, user_id, extract(epoch FROM opened_by_person_at)::float8 * 1000 AS opened_at
  FROM message_recipients WHERE ${LATE} ORDER BY account_id, ref LIMIT ${ROWS}`;
const MARK = `UPDATE message_recipients r SET late_open_copied = true FROM unnest($1::bigint[], $2::bytea[]) AS copied (account_id, ref)
  WHERE r.account_id = copied.account_id AND r.ref = copied.ref`;

/**
 * Copies opens by people of messages that a proxy or a bot had opened first: the event of the first
 * open is flagged as bot traffic, and nothing else says in ClickHouse that a person opened them.
 * What a crash copies again replaces itself. Resolves with how many were copied.
 */
export async function copyLateOpens({ database, clickhouse, cluster }: Stores): Promise<number> {
  for (let copied = 0; ;) {
    const { rows } = await database.query<Row>(FIND);
    if (rows.length > 0) {
      await clickhouse.insert({
        ...{ table: 'message_opens', values: rows.map(openOf), format: 'JSONEachRow' },
        clickhouse_settings: { async_insert: 0, ...(cluster === '' ? {} : QUORUM_INSERT) },
      });
      await database.query(MARK, [
        rows.map(({ account_id }) => account_id),
        rows.map(({ ref }) => ref),
      ]);
    }
    copied += rows.length;
    if (rows.length < ROWS) return copied;
  }
}

function openOf({ account_id, campaign_id, message_id, user_id, opened_at }: Row): object {
  return {
    ...{ account_id, campaign_id },
    ...{ message_id: unescapeText(message_id), user_id: unescapeText(user_id) },
    opened_by_person_at: new Date(opened_at).toISOString(),
  };
}
