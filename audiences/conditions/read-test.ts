import { fitsBytes } from '../../events/bytes.ts';
import { normaliseKey } from '../../events/keys.ts';
import { normalisePersian } from '../../events/persian.ts';
import { parseRfc3339 } from '../../events/rfc3339.ts';
import { isProfileColumn } from '../../events/traits.ts';
import {
  OPERATORS,
  type Operator,
  type Scalar,
  type Target,
  type Test,
  type ValueKind,
} from './condition.ts';
import { EVENT_FIELDS } from './event-fields.ts';
import { startOfDay } from './time-zone.ts';

const DAY = 86_400_000;
export const TEHRAN = 'Asia/Tehran';
/** Bounds of management 8.3. */
export const MAX_LIST_VALUES = 1000;
/** Names of properties and traits, bytes as sent. */
export const MAX_KEY_BYTES = 128;
/** Maximum stored text (ingest 2.3), bytes; a longer one is cut as ingest cuts it. */
const STORED_BYTES = 8192;

/** What is wrong with the operator or the value of a condition. */
export type TestProblem =
  | { kind: 'unknown_operator'; op: unknown }
  | { kind: 'operator_not_offered'; op: Operator; offered: readonly Operator[] }
  | { kind: 'list_expected'; op: Operator }
  | { kind: 'too_many_values' }
  | { kind: 'text_expected'; op?: Operator; index?: number }
  | { kind: 'text_too_long' }
  | { kind: 'boolean_expected'; index?: number }
  | { kind: 'number_expected'; index?: number }
  | { kind: 'date_expected'; index?: number }
  | { kind: 'pair_expected' };

export interface TestRules {
  operators: readonly Operator[];
  kind: ValueKind;
  /** Texts are stored Persian-normalised (ingest 2.3). */
  isPersian: boolean;
  /** Maximum bytes of a text as sent; absent: texts of any length are read. */
  maxTextBytes?: number;
  /** Throws. Reports and audiences have sentences of their own. */
  reject: (problem: TestProblem) => never;
}

/** The one reader of `op` and `value`: report filters and audience conditions differ in rules. */
export function readTest({ op, value }: { op: unknown; value: unknown }, rules: TestRules): Test {
  const { reject, operators } = rules;
  const operator =
    OPERATORS.find((known) => known === op) ?? reject({ kind: 'unknown_operator', op });
  if (!operators.includes(operator))
    return reject({ kind: 'operator_not_offered', op: operator, offered: operators });
  switch (operator) {
    case 'is_set':
    case 'is_not_set':
      return { op: operator };
    case 'eq':
    case 'neq':
      return { op: operator, value: readScalar(value, rules) };
    case 'in':
    case 'not_in':
      return { op: operator, values: readList(value, { operator, rules }) };
    case 'contains':
    case 'prefix':
      return typeof value === 'string'
        ? { op: operator, text: readText(value, rules) }
        : reject({ kind: 'text_expected', op: operator });
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { op: operator, number: readNumber(value, rules) };
    case 'between': {
      if (!Array.isArray(value) || value.length !== 2) return reject({ kind: 'pair_expected' });
      const [low, high] = value as unknown[];
      return { op: operator, low: readNumber(low, rules, 0), high: readNumber(high, rules, 1) };
    }
  }
}

function readList(
  value: unknown,
  { operator, rules }: { operator: Operator; rules: TestRules },
): Scalar[] {
  if (!Array.isArray(value) || value.length === 0)
    return rules.reject({ kind: 'list_expected', op: operator });
  if (value.length > MAX_LIST_VALUES) return rules.reject({ kind: 'too_many_values' });
  return value.map((one: unknown, index) => readScalar(one, rules, index));
}

/** `index`: position in a list of values. */
function readScalar(value: unknown, rules: TestRules, index?: number): Scalar {
  const at = index === undefined ? {} : { index };
  if (rules.kind === 'boolean')
    return value === true || value === false || value === 'true' || value === 'false'
      ? { text: String(value) }
      : rules.reject({ kind: 'boolean_expected', ...at });
  if (rules.kind === 'number' || rules.kind === 'date')
    return { number: readNumber(value, rules, index) };
  if (typeof value === 'string') return { text: readText(value, rules) };
  if (typeof value === 'boolean') return { text: String(value) };
  return rules.kind === 'string'
    ? rules.reject({ kind: 'text_expected', ...at })
    : { number: readNumber(value, rules, index) };
}

/** A number; of kind date: RFC 3339 or a day (its start in Tehran) as epoch milliseconds. */
function readNumber(value: unknown, { kind, reject }: TestRules, index?: number): number {
  const at = index === undefined ? {} : { index };
  if (kind !== 'date')
    return typeof value === 'number' && Number.isFinite(value)
      ? value
      : reject({ kind: 'number_expected', ...at });
  const instant = typeof value === 'string' ? readInstant(value, TEHRAN) : NaN;
  return Number.isNaN(instant) ? reject({ kind: 'date_expected', ...at }) : instant;
}

function readText(value: string, { isPersian, maxTextBytes, reject }: TestRules): string {
  if (maxTextBytes !== undefined && !fitsBytes(value, maxTextBytes))
    return reject({ kind: 'text_too_long' });
  return isPersian ? normalisePersian(value, STORED_BYTES) : value.toWellFormed();
}

/**
 * RFC 3339, or YYYY-MM-DD (the start of that day in the zone), as epoch milliseconds; NaN when it
 * is neither. The parser of instants also checks days, so that 30 February is invalid in both
 * forms.
 */
export function readInstant(text: string, timeZone: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const instant = parseRfc3339(isDay ? `${text}T00:00:00Z` : text);
  return isDay && !Number.isNaN(instant) ? startOfDay(instant / DAY, timeZone) : instant;
}

/** The name of a property or trait as it is stored (ingest 2.3), or what is wrong with it. */
export function readKey(
  sent: string,
): { ok: true; key: string } | { ok: false; problem: 'too_long' | 'empty' } {
  if (!fitsBytes(sent, MAX_KEY_BYTES)) return { ok: false, problem: 'too_long' };
  const key = normaliseKey(sent);
  return key === '' ? { ok: false, problem: 'empty' } : { ok: true, key };
}

/** Profile columns whose texts are stored Persian-normalised (ingest 2.3). */
const PERSIAN_PROFILE_COLUMNS: ReadonlySet<string> = new Set(['city', 'region', 'country']);

/** True where ingest 2.3 stores the value Persian-normalised. */
export function isPersianTarget(target: Target): boolean {
  if (target.kind === 'property') return true;
  if (target.kind === 'field') return EVENT_FIELDS[target.name] === 'persian';
  return !isProfileColumn(target.name) || PERSIAN_PROFILE_COLUMNS.has(target.name);
}
