import { eventTargetSql, traitTargetSql } from '../../audiences/conditions/condition-sql.ts';
import type { Target } from '../../audiences/conditions/condition.ts';
import { KEPT_EVENTS } from '../../platform/clickhouse/kept-events.ts';
import { SqlParams, type CompiledQuery } from '../../platform/clickhouse/sql.ts';

/** Rows that are looked at: the values are suggestions. */
const MAX_ROWS = 500_000;
const SHOWN = 50;
const DAYS = 30;

interface ValuesQuestion {
  accountId: number;
  target: Target;
  /** Undefined: of all events. */
  event: string | undefined;
}

/** The most frequent values of a target, of the events of a month or of the people. */
export function compileValues({ accountId, target, event }: ValuesQuestion): CompiledQuery {
  const params = new SqlParams();
  const account = `account_id = ${params.whole(accountId)}`;
  const text = (target.kind === 'trait'
    ? traitTargetSql(target.name, params)
    : eventTargetSql(target, params)
  ).text ?? { has: 'false', value: "''" };
  const where =
    target.kind === 'trait'
      ? [account, text.has]
      : [
          ...[account, KEPT_EVENTS, `timestamp > now64(3) - INTERVAL ${DAYS} DAY`, text.has],
          ...(event === undefined ? [] : [`event = ${params.text(event)}`]),
        ];
  const source = target.kind === 'trait' ? 'people' : 'events';
  const rows = `SELECT toString(${text.value}) AS value FROM ${source} WHERE ${where.join(' AND ')} LIMIT ${MAX_ROWS}`;
  const sql = `SELECT value, count() AS count FROM (${rows}) WHERE value != '' GROUP BY value ORDER BY count DESC, value LIMIT ${SHOWN}`;
  return { sql, params: params.values() };
}
