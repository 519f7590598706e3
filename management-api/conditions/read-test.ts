import { parseRfc3339 } from '../../events/rfc3339.ts';
import { normalisePersian } from '../../events/persian.ts';
import type { Scalar, Test } from './condition.ts';
import { startOfDay } from './time-zone.ts';
import { OPERATORS, type AttributeKind, type Operator } from '../audiences/attributes.ts';
import { fail, MAX_LIST_VALUES } from '../audiences/problem.ts';

const DAY = 86_400_000;
const TEHRAN = 'Asia/Tehran';
/** Longest text that is stored (ingest 2.3), bytes; a longer one is cut as it is there. */
const STORED_BYTES = 8192;

/** What a condition compares, and where it stands. */
export interface TestContext {
  path: string;
  /** Operators that are offered here. */
  operators: readonly Operator[];
  /** `any`: a number meets the number map, a text the text map. */
  kind: AttributeKind | 'any';
  /** Texts are stored Persian-normalised. */
  isPersian: boolean;
}

/** Reads `op` and `value` of a condition. */
export function readTest(
  { op, value }: { op: unknown; value: unknown },
  context: TestContext,
): Test {
  const operator =
    OPERATORS.find((known) => known === op) ??
    fail(`unknown operator ${shown(op)}`, `${context.path}.op`);
  if (!context.operators.includes(operator))
    fail(
      `operator ${operator} is not offered here; use ${context.operators.join(', ')}`,
      `${context.path}.op`,
    );
  const at = `${context.path}.value`;
  switch (operator) {
    case 'is_set':
    case 'is_not_set':
      return { op: operator };
    case 'eq':
    case 'neq':
      return { op: operator, value: readScalar(value, context, at) };
    case 'in':
    case 'not_in': {
      if (!Array.isArray(value) || value.length === 0)
        return fail(`${operator} takes a list of values`, at);
      if (value.length > MAX_LIST_VALUES) return fail('list has too many values');
      return {
        op: operator,
        values: value.map((one: unknown, index) => readScalar(one, context, `${at}[${index}]`)),
      };
    }
    case 'contains':
    case 'prefix':
      return typeof value === 'string'
        ? { op: operator, text: stored(value, context) }
        : fail(`${operator} takes a text`, at);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { op: operator, number: readNumber(value, context, at) };
    case 'between': {
      if (!Array.isArray(value) || value.length !== 2)
        return fail('between takes a list of two values', at);
      return {
        op: operator,
        low: readNumber(value[0], context, `${at}[0]`),
        high: readNumber(value[1], context, `${at}[1]`),
      };
    }
  }
}

function readScalar(value: unknown, context: TestContext, at: string): Scalar {
  switch (context.kind) {
    case 'boolean':
      if (value === true || value === false || value === 'true' || value === 'false')
        return { text: String(value) };
      return fail('expected true or false', at);
    case 'string':
      if (typeof value === 'string') return { text: stored(value, context) };
      return typeof value === 'boolean' ? { text: String(value) } : fail('expected a text', at);
    case 'number':
    case 'date':
      return { number: readNumber(value, context, at) };
    case 'any':
      if (typeof value === 'string') return { text: stored(value, context) };
      return typeof value === 'boolean'
        ? { text: String(value) }
        : { number: readNumber(value, context, at) };
  }
}

/** A number, or for dates RFC 3339 or a day (its start in Tehran) as epoch milliseconds. */
function readNumber(value: unknown, { kind }: TestContext, at: string): number {
  if (kind !== 'date')
    return typeof value === 'number' && Number.isFinite(value)
      ? value
      : fail('expected a number', at);
  const isDay = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value);
  const instant =
    typeof value === 'string' ? parseRfc3339(isDay ? `${value}T00:00:00Z` : value) : NaN;
  if (Number.isNaN(instant)) return fail('expected a date, RFC 3339 or YYYY-MM-DD', at);
  return isDay ? startOfDay(instant / DAY, TEHRAN) : instant;
}

function stored(value: string, { isPersian }: TestContext): string {
  return isPersian ? normalisePersian(value, STORED_BYTES) : value.toWellFormed();
}

export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) as string | undefined);
  return text === undefined ? 'nothing' : `'${text.length > 60 ? `${text.slice(0, 60)}…` : text}'`;
}
