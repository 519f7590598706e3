import { fitsBytes } from '../../events/bytes.ts';
import { normaliseKey } from '../../events/keys.ts';
import { normalisePersian } from '../../events/persian.ts';
import { isProfileColumn } from '../../events/traits.ts';
import { EVENT_FIELDS, isEventField } from '../conditions/event-fields.ts';
import type { EventSelector, Filter, Scalar, Target, Test } from '../conditions/condition.ts';
import { reject } from './report-problem.ts';
import {
  readEventName,
  readList,
  readObject,
  type EventName,
  type JsonFields,
} from './request-reader.ts';

/** Bounds of management 8.3; keys and values in bytes, as sent. */
const MAX_FILTERS = 10;
const MAX_KEY_BYTES = 128;
const MAX_VALUE_BYTES = 512;
const MAX_LIST = 1000;

const OPERATORS = [
  ...([
    'eq',
    'neq',
    'in',
    'not_in',
    'contains',
    'prefix',
    'gt',
    'gte',
    'lt',
    'lte',
    'between',
    'is_set',
    'is_not_set',
  ] as const),
];
const PERSIAN_TRAIT_COLUMNS: ReadonlySet<string> = new Set(['city', 'region', 'country']);

/** Reads the filters of one report: all its lists share the bound of ten. */
export class FilterReader {
  #count = 0;

  /** A step, start, return or exclusion: `{event, filters?}`. */
  selector(value: unknown, path: string): EventSelector & EventName & { fields: JsonFields } {
    const fields = readObject(value, path);
    const name = readEventName(fields['event'], `${path}.event`);
    return { ...name, filters: this.list(fields['filters'], `${path}.filters`), fields };
  }

  list(value: unknown, path: string): Filter[] {
    return readList(value, path).map((item, at) => this.#filter(item, `${path}[${at}]`));
  }

  #filter(value: unknown, path: string): Filter {
    if (++this.#count > MAX_FILTERS) return reject('too_many_filters');
    const fields = readObject(value, path);
    const target = readTarget(fields, { path, problem: 'filter' });
    return { target, test: readTest(fields, { path, isPersian: isPersian(target) }) };
  }
}

/** The one of property, field and trait that is named. */
export function readTarget(
  fields: JsonFields,
  context: { path: string; problem: 'filter' | 'option' },
): Target {
  const named = (['property', 'field', 'trait'] as const).filter(
    (kind) => fields[kind] !== undefined && fields[kind] !== null,
  );
  const kind = named[0];
  const sent = kind === undefined ? undefined : fields[kind];
  if (kind === undefined || named.length > 1 || typeof sent !== 'string')
    return reject(context.problem, context.path);
  if (!fitsBytes(sent, MAX_KEY_BYTES)) return reject('key_too_long');
  if (kind === 'field')
    return isEventField(sent)
      ? { kind, name: sent }
      : reject(context.problem, `${context.path}.field`);
  const name = normaliseKey(sent);
  return name === '' ? reject(context.problem, `${context.path}.${kind}`) : { kind, name };
}

/** True where ingest 2.3 stores the value Persian-normalised. */
function isPersian(target: Target): boolean {
  if (target.kind === 'property') return true;
  if (target.kind === 'field') return EVENT_FIELDS[target.name] === 'persian';
  return !isProfileColumn(target.name) || PERSIAN_TRAIT_COLUMNS.has(target.name);
}

interface ValueContext {
  path: string;
  isPersian: boolean;
}

function readTest(fields: JsonFields, context: ValueContext): Test {
  const op =
    OPERATORS.find((known) => known === fields['op']) ?? reject('filter', `${context.path}.op`);
  const value = fields['value'];
  switch (op) {
    case 'is_set':
    case 'is_not_set':
      return { op };
    case 'eq':
    case 'neq':
      return { op, value: readScalar(value, context) };
    case 'in':
    case 'not_in': {
      if (!Array.isArray(value) || value.length === 0 || value.length > MAX_LIST)
        return reject('filter', `${context.path}.value`);
      return { op, values: value.map((one: unknown) => readScalar(one, context)) };
    }
    case 'contains':
    case 'prefix':
      return typeof value === 'string'
        ? { op, text: readText(value, context) }
        : reject('filter', `${context.path}.value`);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { op, number: readNumber(value, context) };
    case 'between': {
      if (!Array.isArray(value) || value.length !== 2)
        return reject('filter', `${context.path}.value`);
      return { op, low: readNumber(value[0], context), high: readNumber(value[1], context) };
    }
  }
}

function readScalar(value: unknown, context: ValueContext): Scalar {
  if (typeof value === 'string') return { text: readText(value, context) };
  if (typeof value === 'boolean') return { text: String(value) };
  return { number: readNumber(value, context) };
}

function readText(value: string, context: ValueContext): string {
  if (!fitsBytes(value, MAX_VALUE_BYTES)) return reject('value_too_long');
  return context.isPersian ? normalisePersian(value, 2 * MAX_VALUE_BYTES) : value.toWellFormed();
}

function readNumber(value: unknown, context: ValueContext): number {
  return typeof value === 'number' && Number.isFinite(value)
    ? value
    : reject('filter', `${context.path}.value`);
}
