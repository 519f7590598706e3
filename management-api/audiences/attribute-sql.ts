import { isProfileColumn } from '../../events/traits.ts';
import { traitTargetSql, type TargetSql } from '../conditions/condition-sql.ts';
import type { SqlParams } from '../warehouse/sql-params.ts';
import type { AttributeName } from './attributes.ts';

const DAY = 86_400_000;

/** A built-in attribute of a row of the view `people`; has_push is no column and compiled apart. */
export function attributeTargetSql(
  name: Exclude<AttributeName, 'has_push'>,
  context: { params: SqlParams; today: number },
): TargetSql {
  if (isProfileColumn(name)) return traitTargetSql(name, context.params);
  const today = `toDate32(${context.params.text(new Date(context.today * DAY).toISOString().slice(0, 10))})`;
  switch (name) {
    case 'total_revenue':
    case 'order_count':
      return always(`toFloat64(${name})`);
    case 'first_seen':
      return always('toFloat64(toUnixTimestamp64Milli(first_seen))');
    case 'last_order_at': {
      const value = 'toFloat64(ifNull(toUnixTimestamp64Milli(last_order_at), 0))';
      return numeric(`${value} != 0`, value);
    }
    case 'days_since_last_seen':
      return always(
        `toFloat64(greatest(0, dateDiff('day', toDate32(last_seen, 'Asia/Tehran'), ${today})))`,
      );
    case 'days_until_birthday':
      return birthday(today);
  }
}

/**
 * Days to the next birthday. The column holds the date as it was sent: a Gregorian YYYY-MM-DD, with
 * or without a time behind it, counts; anything else is no birthday. The 29th of February falls on
 * the 28th in common years.
 */
function birthday(today: string): TargetSql {
  const born = "ifNull(toDate32OrNull(substring(birthday, 1, 10)), toDate32('1900-01-01'))";
  // The parser rolls 30 February over into March: the text must come out as it went in.
  const isDate = `match(birthday, '^[0-9]{4}-[0-9]{2}-[0-9]{2}($|[T ])') AND toString(${born}) = substring(birthday, 1, 10)`;
  const inYear = (plus: number) =>
    `addYears(${born}, toYear(${today}) - toYear(${born}) + ${plus})`;
  const next = `if(${inYear(0)} >= ${today}, ${inYear(0)}, ${inYear(1)})`;
  return numeric(`(${isDate})`, `toFloat64(dateDiff('day', ${today}, ${next}))`);
}

function always(value: string): TargetSql {
  return numeric('true', value);
}

function numeric(has: string, value: string): TargetSql {
  return { has, number: { has, value } };
}
