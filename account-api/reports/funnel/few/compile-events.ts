import {
  SqlParams,
  TIE_BREAKERS,
  type CompiledQuery,
} from '../../../../platform/clickhouse/sql.ts';
import type { Merges } from '../../../../audiences/people-sql.ts';
import { hasEventValue, joinTrait } from '../../breakdown-sql.ts';
import { columnList, funnelRows, GAP_SHIFT, type FunnelSqlContext } from '../event-arrays.ts';
import type { FunnelRequest } from '../request.ts';
import { PLATFORM_EVENTS } from '../strict-sql.ts';
import { SEQUENCE_BIT } from './funnel-events.ts';

/** What the statement answers, by column; an event that counts for nothing is not among them. */
export interface EventColumns {
  /** UInt64 as text. */
  person: string[];
  t: number[];
  bits: number[];
  /** The breakdown's value of the event, or of the person. */
  value?: (string | null)[];
}

/**
 * The events of a funnel, at most `limit`, each person's together and in total order. They are cut
 * before they are sorted: when there are more, which ones come is not said.
 */
export function compileEvents(
  options: { request: FunnelRequest; accountId: number; merges: Merges },
  limit: number,
): CompiledQuery {
  const params = new SqlParams();
  const { request } = options;
  const context: FunnelSqlContext = { ...options, params };
  const rows = funnelRows(context);
  const { gaps } = rows.columns;
  const isStrict = request.order === 'strict';
  const bits = [
    'mask',
    ...(gaps === undefined ? [] : [`bitShiftLeft(gaps, ${GAP_SHIFT})`]),
    ...(isStrict ? [`bitShiftLeft(toUInt64(is_member), ${SEQUENCE_BIT})`] : []),
  ].reduce((left, right) => `bitOr(${left}, ${right})`);
  const matched = gaps === undefined ? 'mask != 0' : '(mask != 0 OR gaps != 0)';
  const names = [...request.steps, ...request.exclude].map(({ event }) => event);
  const isMember = `type IN ('track', 'page', 'screen') AND event NOT IN ${params.bind('Array(String)', PLATFORM_EVENTS)}`;
  const where = [
    ...rows.where,
    // between strict steps every event counts
    ...(isStrict
      ? [`(is_member OR ${matched})`]
      : [`event IN ${params.bind('Array(String)', [...new Set(names)])}`, matched]),
  ];
  const more = isStrict ? `, ${isMember} AS is_member` : '';
  const read = `SELECT ${columnList(rows)}${more}, ${TIE_BREAKERS} FROM ${rows.source} WHERE ${where.join(' AND ')} LIMIT ${limit}`;
  const value = hasEventValue(request) ? ', value' : '';
  const source = joinTrait(context, {
    rows: `SELECT person, t, ${bits} AS bits, ${TIE_BREAKERS}${value} FROM (${read})`,
    columns: `person, t, bits, ${TIE_BREAKERS}, trait AS value`,
  });
  const hasValue = request.breakdown === undefined ? '' : ', value';
  const sql = `SELECT toString(person) AS person, t, bits${hasValue} FROM (${source}) ORDER BY person, t, ${TIE_BREAKERS}`;
  return { sql, params: params.values() };
}
