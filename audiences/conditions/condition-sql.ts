import { isWord, propertyWord } from '../../events/property-words.ts';
import { isProfileColumn } from '../../events/traits.ts';
import { EVENT_FIELDS, type EventField } from './event-fields.ts';
import type { Filter, Scalar, Target, Test } from './condition.ts';
import type { SqlParams } from '../../platform/clickhouse/sql.ts';

/**
 * A target as SQL, compared as text and as number; undefined where it has no such form. `has`:
 * whether it is present.
 */
export interface TargetSql {
  has: string;
  text?: { has: string; value: string; words?: WordsSql };
  number?: { has: string; value: string };
}

/** Texts that are words are found in a column of their own (events/property-words.ts). */
export interface WordsSql {
  column: string;
  /** What the column has of a word. */
  stored: (word: string) => string;
}

export interface FilterSqlContext {
  params: SqlParams;
  accountId: number;
  /** SQL of the person of an event row, as the hash that `people` is joined by. */
  person: string;
}

/** The conjunction of filters as SQL over a row of `events`; 'true' when there are none. */
export function filtersSql(filters: readonly Filter[], context: FilterSqlContext): string {
  return filters.length === 0
    ? 'true'
    : filters.map((filter) => `(${filterSql(filter, context)})`).join(' AND ');
}

function filterSql({ target, test }: Filter, context: FilterSqlContext): string {
  const { params, person } = context;
  if (target.kind !== 'trait') return testSql(test, eventTargetSql(target, params), params);
  // is_not_set is also true for people without a profile, so it excludes those who have the trait
  const isNegated = test.op === 'is_not_set';
  const inside = testSql(
    isNegated ? { op: 'is_set' } : test,
    traitTargetSql(target.name, params),
    params,
  );
  return `${person} ${isNegated ? 'NOT IN' : 'IN'} (SELECT sipHash64(person) FROM people WHERE account_id = ${params.whole(context.accountId)} AND (${inside}))`;
}

/** A property or column of an event row. */
export function eventTargetSql(
  target: Exclude<Target, { kind: 'trait' }>,
  params: SqlParams,
): TargetSql {
  if (target.kind === 'field') return fieldTarget(target.name);
  const { name } = target;
  const words = { column: '_property_words', stored: (word: string) => propertyWord(name, word) };
  return mapTarget({ name, texts: 'properties', numbers: 'property_numbers', words }, params);
}

/** A trait of a row of the view `people` (reports: People). */
export function traitTargetSql(name: string, params: SqlParams): TargetSql {
  return isProfileColumn(name)
    ? columnTarget(name)
    : mapTarget({ name, texts: 'traits', numbers: 'trait_numbers' }, params);
}

interface MapSql {
  name: string;
  texts: string;
  numbers: string;
  words?: WordsSql;
}

function mapTarget({ name, texts, numbers, words }: MapSql, params: SqlParams): TargetSql {
  const key = params.text(name);
  const has = `mapContains(${texts}, ${key})`;
  return {
    has,
    text: { has, value: `${texts}[${key}]`, ...(words ? { words } : {}) },
    number: { has: `mapContains(${numbers}, ${key})`, value: `${numbers}[${key}]` },
  };
}

function columnTarget(column: string): TargetSql {
  const has = `${column} != ''`;
  return { has, text: { has, value: column } };
}

function fieldTarget(field: EventField): TargetSql {
  switch (EVENT_FIELDS[field]) {
    case 'text':
    case 'persian':
      return columnTarget(field);
    case 'id': {
      const has = `${field} != 0`;
      return {
        has,
        text: { has, value: `toString(${field})` },
        number: { has, value: `toFloat64(${field})` },
      };
    }
    case 'number':
      return { has: 'true', number: { has: 'true', value: field } };
    case 'flag':
      return {
        has: 'true',
        text: { has: 'true', value: `if(${field}, 'true', 'false')` },
        number: { has: 'true', value: `toFloat64(${field})` },
      };
  }
}

export function testSql(test: Test, target: TargetSql, params: SqlParams): string {
  switch (test.op) {
    case 'is_set':
      return target.has;
    case 'is_not_set':
      return `NOT (${target.has})`;
    case 'eq':
    case 'neq':
      return scalarSql(test.value, { target, params, isEqual: test.op === 'eq' });
    case 'in':
    case 'not_in':
      return listSql(test.values, { target, params, isIn: test.op === 'in' });
    case 'contains':
      return target.text
        ? `${target.text.has} AND position(${target.text.value}, ${params.text(test.text)}) > 0`
        : 'false';
    case 'prefix':
      return target.text
        ? `${target.text.has} AND startsWith(${target.text.value}, ${params.text(test.text)})`
        : 'false';
    case 'gt':
      return numberSql(target, `> ${params.float(test.number)}`);
    case 'gte':
      return numberSql(target, `>= ${params.float(test.number)}`);
    case 'lt':
      return numberSql(target, `< ${params.float(test.number)}`);
    case 'lte':
      return numberSql(target, `<= ${params.float(test.number)}`);
    case 'between':
      return numberSql(target, `BETWEEN ${params.float(test.low)} AND ${params.float(test.high)}`);
  }
}

function numberSql({ number }: TargetSql, comparison: string): string {
  return number ? `${number.has} AND ${number.value} ${comparison}` : 'false';
}

function scalarSql(
  value: Scalar,
  { target, params, isEqual }: { target: TargetSql; params: SqlParams; isEqual: boolean },
): string {
  const sign = isEqual ? '=' : '!=';
  if ('number' in value) return numberSql(target, `${sign} ${params.float(value.number)}`);
  const { text } = target;
  if (!text) return 'false';
  const words = wordsSql(text, [value.text], { params, isIn: isEqual });
  if (words !== undefined) return words;
  const comparison = `${text.value} ${sign} ${params.text(value.text)}`;
  // a map returns '' for an absent key, and an absent column is '': equality with another text
  // implies presence
  return isEqual && value.text !== '' ? comparison : `${text.has} AND ${comparison}`;
}

/** Whether a text is present and one of these, or none of them; undefined unless all are words. */
function wordsSql(
  { has, words }: NonNullable<TargetSql['text']>,
  texts: readonly string[],
  { params, isIn }: { params: SqlParams; isIn: boolean },
): string | undefined {
  if (!words || !texts.every(isWord)) return undefined;
  const [first = '', ...others] = texts.map(words.stored);
  const any =
    others.length === 0
      ? `has(${words.column}, ${params.text(first)})`
      : `arrayExists(word -> ${params.isTextIn('word', [first, ...others])}, ${words.column})`;
  return isIn ? any : `${has} AND NOT ${any}`;
}

/** `in` is the disjunction of eq, `not_in` the conjunction of neq, over texts and numbers apart. */
function listSql(
  values: readonly Scalar[],
  { target, params, isIn }: { target: TargetSql; params: SqlParams; isIn: boolean },
): string {
  const texts = values.flatMap((value) => ('text' in value ? [value.text] : []));
  const numbers = values.flatMap((value) => ('number' in value ? [value.number] : []));
  const not = isIn ? '' : 'NOT ';
  const sides: string[] = [];
  const { text, number } = target;
  const isOneOf = ({ has, value }: NonNullable<TargetSql['text']>): string =>
    `${has} AND ${not}${params.isTextIn(value, texts)}`;
  if (texts.length > 0)
    sides.push(text ? (wordsSql(text, texts, { params, isIn }) ?? isOneOf(text)) : 'false');
  if (numbers.length > 0)
    sides.push(
      number ? `${number.has} AND ${not}${params.isFloatIn(number.value, numbers)}` : 'false',
    );
  return sides.map((side) => `(${side})`).join(isIn ? ' OR ' : ' AND ');
}
