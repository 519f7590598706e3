import { sinceSql } from '../platform/clickhouse/event-time.ts';
import { KEPT_EVENTS } from '../platform/clickhouse/kept-events.ts';
import type { Test } from './conditions/condition.ts';
import { matchesTest } from './conditions/predicate.ts';
import { filtersSql, testSql, traitTargetSql, type TargetSql } from './conditions/condition-sql.ts';
import { mergedSql, peopleSql, type Merges } from './people-sql.ts';
import type { SqlParams } from '../platform/clickhouse/sql.ts';
import {
  attributeTargetSql,
  bandSql,
  BIRTHDAY,
  birthdayNames,
  METRIC_SQL,
} from './attribute-sql.ts';
import type { Audience, EventCondition } from './definition.ts';

const DAY = 86_400_000;

export interface CompileContext {
  accountId: number;
  /** ms since the epoch: the reference time of within_days and ages. */
  now: number;
  /** Days since 1970-01-01 of today in Tehran. */
  today: number;
  merges: Merges;
  params: SqlParams;
}

/** The audience as a condition on rows of the view `people`; values are bound. Never NULL. */
export function compileAudience(audience: Audience, context: CompileContext): string {
  const { params } = context;
  switch (audience.kind) {
    case 'all':
    case 'any': {
      const { together, others } = eventsTogether(audience);
      const conditions = others.map((one) => compileAudience(one, context));
      if (together.length > 0) conditions.push(togetherSql(together, audience.kind, context));
      return conditions.map((one) => `(${one})`).join(audience.kind === 'all' ? ' AND ' : ' OR ');
    }
    case 'not':
      return `NOT (${compileAudience(audience.of, context)})`;
    case 'trait':
      return testSql(audience.test, traitTargetSql(audience.name, params), params);
    case 'attribute':
      return audience.name === 'has_push'
        ? pushSql(audience.test, context)
        : testSql(audience.test, attributeTargetSql(audience.name, context), params);
    case 'metric': {
      const { days, of, value } = METRIC_SQL[audience.name];
      return countedSql(
        {
          // without the day: two hundred of these would not fit into a statement
          rows: `timestamp >= ${params.instant(context.now - days * DAY)} AND ${of}`,
          value,
          test: audience.test,
        },
        context,
      );
    }
    case 'band':
      return `${audience.is ? '' : 'NOT '}(${bandSql(audience.name, context)})`;
    case 'event':
      return `${audience.did ? '' : 'NOT '}(${eventSql(audience, context)})`;
  }
}

const MERGED = 'merged';

/**
 * The WITH clause of a statement whose condition is `where`: what every condition would write out.
 * ClickHouse takes at most 128 KiB in one field of a form, and a statement with parameters is one.
 */
export function audienceNames(where: string, context: CompileContext): string {
  const names = [
    ...(where.includes(`JOIN ${MERGED} `) ? [`${MERGED} AS (${mergedSql(context)})`] : []),
    ...(where.includes(BIRTHDAY.days) ? birthdayNames(context) : []),
  ];
  return names.length === 0 ? '' : `WITH ${names.join(', ')} `;
}

/** The statement that counts an audience. */
export function compileCount(audience: Audience, context: CompileContext): string {
  const where = `account_id = ${context.params.whole(context.accountId)} AND (${compileAudience(audience, context)})`;
  return `${audienceNames(where, context)}SELECT count() AS count FROM people WHERE ${where}`;
}

/** Which events an event condition counts, but for its predicates on properties. */
function eventRows({ event, withinDays }: EventCondition, context: CompileContext): string {
  const { params, now } = context;
  const rows = [`event = ${params.text(event)}`];
  if (withinDays !== undefined) rows.push(sinceSql(now - withinDays * DAY, params));
  return rows.join(' AND ');
}

function eventSql(condition: EventCondition, context: CompileContext): string {
  const { params, accountId } = context;
  const { times, where } = condition;
  const rows = [eventRows(condition, context)];
  if (where.length > 0)
    rows.push(filtersSql(where, { params, accountId, person: personOf(context) }));
  return countedSql(
    { rows: rows.join(' AND '), value: 'toFloat64(count())', test: times },
    context,
  );
}

/** Whether people without such events are in. */
function zeroPasses({ did, times }: EventCondition): boolean {
  return matchesTest(times, { text: undefined, number: 0 }) === did;
}

/**
 * Events that one subquery counts, with a group for each person who has any of them. Where all
 * conditions must hold, one that people without events fail makes that enough; where any of them
 * may, each must be so. Predicates on properties stay apart: their columns are read for the events
 * of their name only.
 */
function eventsTogether({ kind, of }: Extract<Audience, { kind: 'all' | 'any' }>): {
  together: readonly EventCondition[];
  others: readonly Audience[];
} {
  const events = of.filter((one) => one.kind === 'event').filter(({ where }) => where.length === 0);
  const failing = events.filter((one) => !zeroPasses(one));
  const together = kind === 'all' && failing.length > 0 ? events : failing;
  if (together.length < 2) return { together: [], others: of };
  const known = new Set<Audience>(together);
  return { together, others: of.filter((one) => !known.has(one)) };
}

function togetherSql(
  events: readonly EventCondition[],
  kind: 'all' | 'any',
  context: CompileContext,
): string {
  const { params } = context;
  const each = events.map((one) => {
    const rows = eventRows(one, context);
    const value = `toFloat64(countIf(${rows}))`;
    const test = testSql(one.times, { has: 'true', number: { has: 'true', value } }, params);
    return { rows: `(${rows})`, test: `${one.did ? '' : 'NOT '}(${test})` };
  });
  const rows = each.map((one) => one.rows).join(' OR ');
  const having = each.map((one) => one.test).join(kind === 'all' ? ' AND ' : ' OR ');
  return `sipHash64(person) IN (${peopleOfRows(`(${rows})`, context)} HAVING ${having})`;
}

/** SELECT of the people who have such events, by their hash. */
function peopleOfRows(rows: string, { accountId, merges, params }: CompileContext): string {
  const { source, person } = peopleSql({ merges, accountId, params }, MERGED);
  return `SELECT ${person} AS _who FROM ${source} WHERE account_id = ${params.whole(accountId)} AND ${KEPT_EVENTS} AND ${rows} AND NOT is_bot GROUP BY _who`;
}

interface Counted {
  /** Which events of the person. */
  rows: string;
  /** The figure over these events, a float; zero without events. */
  value: string;
  test: Test;
}

/**
 * Whether a figure over the events of a person passes a test. People without such events have zero:
 * where zero passes, the people who fail are excluded.
 */
function countedSql({ rows, value, test }: Counted, context: CompileContext): string {
  const isZeroIn = matchesTest(test, { text: undefined, number: 0 });
  const having = testSql(test, { has: 'true', number: { has: 'true', value } }, context.params);
  const isOnce = test.op === 'gte' && test.number === 1 && value === 'toFloat64(count())';
  const filter = isOnce ? '' : ` HAVING ${isZeroIn ? `NOT (${having})` : having}`;
  return `sipHash64(person) ${isZeroIn ? 'NOT IN' : 'IN'} (${peopleOfRows(rows, context)}${filter})`;
}

function personOf({ merges, accountId, params }: CompileContext): string {
  return peopleSql({ merges, accountId, params }).person;
}

/** Push is possible while a device of the person, under any of their names, is registered. */
function pushSql(test: Test, context: CompileContext): string {
  const { accountId, merges, params } = context;
  const { source, person } = peopleSql(
    { table: 'addresses FINAL', merges, accountId, params },
    MERGED,
  );
  const own = `SELECT ${person} FROM ${source} WHERE account_id = ${params.whole(accountId)} AND channel = 'push' AND active`;
  const flag: TargetSql = {
    has: 'true',
    text: { has: 'true', value: `if(sipHash64(person) IN (${own}), 'true', 'false')` },
  };
  return testSql(test, flag, params);
}
