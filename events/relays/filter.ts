import { utf8Length } from '../bytes.ts';
import { isJsonObject } from '../json.ts';
import { normaliseKey } from '../keys.ts';
import { MAX_VALUE_BYTES } from '../values.ts';

/** A relay cannot be saved. The message is for the person who filled in the form. */
export class InvalidRelay extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidRelay';
  }
}

/** The ten operators (ingest 4.9). */
export const OPERATORS = [
  'eq',
  'ne',
  'contains',
  'prefix',
  'gt',
  'gte',
  'lt',
  'lte',
  'exists',
  'missing',
] as const;
export type Operator = (typeof OPERATORS)[number];
export type FilterValue = string | number | boolean;

/** One condition on a property. exists and missing have no value; the others require one. */
export interface Filter {
  /** Normalised like stored keys: `order id` reads `order_id` (ingest 2.3, "Keys"). */
  prop: string;
  op: Operator;
  value?: FilterValue;
}

/** Maximum number of filters of a relay (ingest 8, "Relay filters"). */
export const MAX_FILTERS = 8;

/** Parses the filters of a relay. Throws InvalidRelay. */
export function parseFilters(value: unknown): Filter[] {
  if (!Array.isArray(value)) throw new InvalidRelay('filters must be a list of {prop, op, value}');
  if (value.length > MAX_FILTERS)
    throw new InvalidRelay(`a relay has at most ${MAX_FILTERS} filters; these are ${value.length}`);
  return value.map((filter: unknown, at) => parseFilter(filter, `filters[${at}]`));
}

function parseFilter(filter: unknown, where: string): Filter {
  if (!isJsonObject(filter)) throw new InvalidRelay(`${where} must be an object {prop, op, value}`);
  const {
    prop: sent,
    op: sentOp,
    value,
  } = filter as { prop?: unknown; op?: unknown; value?: unknown };
  if (typeof sent !== 'string') throw new InvalidRelay(`${where}.prop must be text`);
  const prop = normaliseKey(sent);
  if (prop === '') throw new InvalidRelay(`${where}.prop must not be empty`);
  const op = OPERATORS.find((one) => one === sentOp);
  if (op === undefined) {
    const shown = typeof sentOp === 'string' ? JSON.stringify(sentOp.slice(0, 40)) : 'no text';
    throw new InvalidRelay(`${where}.op is ${shown}; the operators are ${OPERATORS.join(', ')}`);
  }
  if (op === 'exists' || op === 'missing') return { prop, op };
  if (!isFilterValue(value))
    throw new InvalidRelay(`${where}.value must be text, a number, true or false`);
  if (typeof value === 'string' && utf8Length(value) > MAX_VALUE_BYTES)
    throw new InvalidRelay(`${where}.value must have at most ${MAX_VALUE_BYTES} bytes`);
  // PostgreSQL cannot store NUL.
  if (typeof value === 'string' && value.includes('\u0000'))
    throw new InvalidRelay(`${where}.value must not hold control characters`);
  return { prop, op, value: typeof value === 'string' ? value.toWellFormed() : value };
}

function isFilterValue(value: unknown): value is FilterValue {
  return (
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value))
  );
}
