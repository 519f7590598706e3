import { normalisePersian } from '../persian.ts';
import { MAX_VALUE_BYTES, numberText } from '../values.ts';
import type { Filter, FilterValue } from './filter.ts';

/** The two maps of an event's properties as they are stored (ingest 2.3, "Values"). */
export interface StoredProperties {
  text: Readonly<Record<string, string>>;
  numbers: Readonly<Record<string, number>>;
}

export type Predicate = (properties: StoredProperties) => boolean;

/** A value of either side: always its text, and a number when it is or reads as one. */
interface Operand {
  text: string;
  number: number | undefined;
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** Value of an ASCII decimal; undefined for other texts and for numbers outside float64. */
export function readNumber(text: string): number | undefined {
  const trimmed = text.trim();
  if (!DECIMAL.test(trimmed)) return undefined;
  const number = Number(trimmed);
  return Number.isFinite(number) ? number : undefined;
}

/**
 * Compiles filters into one predicate: every filter must match (ingest 4.9). Texts of filters are
 * Persian-normalised, like stored values.
 *
 * - A missing property matches only `missing`; `ne` is false too.
 * - If both sides are numbers or read as numbers ("12" and 12.0), they compare as numbers: "007" eq
 *   "7". true and false equal both 1 and 0 and 'true' and 'false'.
 * - gt, gte, lt, lte compare two non-numeric texts by UTF-16 units, which orders ISO dates; a
 *   number and another text never match.
 * - contains and prefix search the stored text, case-sensitively; the text of a number is its plain
 *   decimal ("1250000").
 */
export function compileFilters(filters: readonly Filter[]): Predicate {
  const predicates = filters.map(compileFilter);
  return (properties) => predicates.every((matches) => matches(properties));
}

function compileFilter({ prop, op, value }: Filter): Predicate {
  const has: Predicate = ({ text }) => Object.hasOwn(text, prop);
  if (op === 'exists') return has;
  if (op === 'missing') return (properties) => !has(properties);
  const wanted = operandOf(value ?? '');
  const compared = (test: (found: Operand) => boolean): Predicate => {
    return ({ text, numbers }) => {
      if (!Object.hasOwn(text, prop)) return false;
      const found = text[prop] ?? '';
      return test({
        text: found,
        number: Object.hasOwn(numbers, prop) ? numbers[prop] : readNumber(found),
      });
    };
  };
  switch (op) {
    case 'eq':
      return compared((found) => isEqual(found, wanted));
    case 'ne':
      return compared((found) => !isEqual(found, wanted));
    case 'contains':
      return compared((found) => found.text.includes(wanted.text));
    case 'prefix':
      return compared((found) => found.text.startsWith(wanted.text));
    case 'gt':
      return compared((found) => order(found, wanted) > 0);
    case 'gte':
      return compared((found) => order(found, wanted) >= 0);
    case 'lt':
      return compared((found) => order(found, wanted) < 0);
    case 'lte':
      return compared((found) => order(found, wanted) <= 0);
  }
}

function operandOf(value: FilterValue): Operand {
  switch (typeof value) {
    case 'number':
      return { text: numberText(value), number: value };
    case 'boolean':
      return { text: String(value), number: Number(value) };
    default:
      return { text: normalisePersian(value, MAX_VALUE_BYTES), number: readNumber(value) };
  }
}

function isEqual(found: Operand, wanted: Operand): boolean {
  if (found.text === wanted.text) return true;
  return found.number !== undefined && found.number === wanted.number;
}

/** Negative, zero or positive; NaN, which no comparison accepts, when only one side is a number. */
function order(found: Operand, wanted: Operand): number {
  if (found.number !== undefined && wanted.number !== undefined)
    return found.number - wanted.number;
  if (found.number !== undefined || wanted.number !== undefined) return NaN;
  return found.text === wanted.text ? 0 : found.text > wanted.text ? 1 : -1;
}
