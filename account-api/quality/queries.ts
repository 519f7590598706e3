import type { ClickHouseClient } from '@clickhouse/client';
import { SqlParams } from '../../platform/clickhouse/sql.ts';
import { readRows } from '../../platform/clickhouse/rows.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';

const MAX_ROWS = 1000;

export interface QualityQuery {
  accountId: number;
  /** First and last day, YYYY-MM-DD in Tehran, both included. */
  from: string;
  to: string;
  signal: AbortSignal;
}

export interface QualityRow {
  day: string;
  kind: string;
  code: string;
  field: string;
  sdk: string;
  app_id: number;
  count: number;
  /** Over all rows of this kind, shown or not. */
  of_kind: number;
}

/** Rows of GET /v1/ingest/quality, newest day first. Rejects when ClickHouse fails. */
export type ReadQuality = (query: QualityQuery) => Promise<QualityRow[]>;

/** Clients choose the SDK names, so the rows are bounded; the totals cover all of them. */
export function qualityQuery(client: ClickHouseClient): ReadQuality {
  return ({ accountId, from, to, signal }) => {
    const params = new SqlParams();
    const sql = `SELECT toString(day) AS day, kind, code, field, sdk, app_id, sum(ingest_quality.count) AS count, sum(count) OVER (PARTITION BY kind) AS of_kind
      FROM ingest_quality FINAL
      WHERE account_id = ${params.whole(accountId)} AND ingest_quality.day >= toDate(${params.text(from)}) AND ingest_quality.day <= toDate(${params.text(to)})
      GROUP BY day, kind, code, field, sdk, app_id ORDER BY day DESC, kind, count DESC, code, field, sdk, app_id LIMIT ${MAX_ROWS}`;
    return readRows<QualityRow>({
      ...{ client: onAccount(client, accountId), sql, signal },
      params: params.values(),
    });
  };
}
