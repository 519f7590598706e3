import type { Operator } from '../../../../audiences/conditions/condition.ts';

/** What a filter or a breakdown reads; `name` as the request writes it. */
export interface TargetText {
  kind: 'property' | 'field' | 'trait';
  name: string;
}

/** A filter as the URL and the request write it: exactly one of property, field, trait. */
export interface FilterText {
  property?: string;
  field?: string;
  trait?: string;
  op: Operator;
  value?: string | number | (string | number)[];
}

/** An event with its filters. */
export interface SelectorText {
  event: string;
  filters?: FilterText[];
}

export const OPERATOR_NAMES: readonly Operator[] = [
  ...(['eq', 'neq', 'in', 'not_in', 'contains', 'prefix'] as const),
  ...(['gt', 'gte', 'lt', 'lte', 'between', 'is_set', 'is_not_set'] as const),
];

const KINDS = ['property', 'field', 'trait'] as const;
const NUMERIC: readonly Operator[] = ['gt', 'gte', 'lt', 'lte', 'between'];
/** More steps than any report has. */
const MAX_LIST = 50;

/** How many values an operator compares with. */
export function arity(op: Operator): 'none' | 'one' | 'two' | 'list' {
  if (op === 'is_set' || op === 'is_not_set') return 'none';
  if (op === 'between') return 'two';
  return op === 'in' || op === 'not_in' ? 'list' : 'one';
}

/** Whether an operator compares numbers; the others compare texts, which numbers have too. */
export function isNumeric(op: Operator): boolean {
  return NUMERIC.includes(op);
}

export function targetOf(filter: Partial<Record<TargetText['kind'], string>>): TargetText {
  const kind = KINDS.find((one) => filter[one] !== undefined) ?? 'property';
  return { kind, name: filter[kind] ?? '' };
}

/** A number as people type it, with Persian or Arabic digits and separators. */
export function numberIn(text: string): number | undefined {
  const ascii = text
    .replaceAll(/[۰-۹]/g, (digit) => String(digit.charCodeAt(0) - 0x06f0))
    .replaceAll(/[٠-٩]/g, (digit) => String(digit.charCodeAt(0) - 0x0660))
    .replaceAll(/[٬,\s]/g, '')
    .replace('٫', '.');
  return ascii === '' || !Number.isFinite(Number(ascii)) ? undefined : Number(ascii);
}

/** A filter whose value is complete, so that a request can have it. */
export function isComplete(filter: FilterText): boolean {
  if (targetOf(filter).name === '') return false;
  const { op, value } = filter;
  switch (arity(op)) {
    case 'none':
      return true;
    case 'one':
      return isNumeric(op) ? typeof value === 'number' : value !== undefined && value !== '';
    case 'two':
      return Array.isArray(value) && value.length === 2 && value.every(Number.isFinite);
    case 'list':
      return Array.isArray(value) && value.length > 0;
  }
}

/** The filters of a URL; anything else is left out. */
export function readFilters(sent: unknown): FilterText[] {
  if (!Array.isArray(sent)) return [];
  return sent.slice(0, MAX_LIST).flatMap((one: unknown): FilterText[] => {
    if (typeof one !== 'object' || one === null) return [];
    const fields = one as Record<string, unknown>;
    const op = OPERATOR_NAMES.find((name) => name === fields['op']);
    const target = readTarget(fields);
    if (!op || !target) return [];
    const { value } = fields;
    const isValue = typeof value === 'string' || typeof value === 'number' || isList(value);
    return [{ [target.kind]: target.name, op, ...(isValue ? { value } : {}) }];
  });
}

export function readTarget(sent: unknown): TargetText | undefined {
  if (typeof sent !== 'object' || sent === null) return undefined;
  const fields = sent as Record<string, unknown>;
  const kind = KINDS.find((one) => typeof fields[one] === 'string');
  return kind && { kind, name: fields[kind] as string };
}

/** A step, a start or a return of a URL. */
export function readSelector(sent: unknown): SelectorText | undefined {
  if (typeof sent !== 'object' || sent === null) return undefined;
  const { event, filters } = sent as Record<string, unknown>;
  if (typeof event !== 'string') return undefined;
  const read = readFilters(filters);
  return { event, ...(read.length > 0 ? { filters: read } : {}) };
}

export function readSelectors(sent: unknown): SelectorText[] {
  return Array.isArray(sent)
    ? sent.slice(0, MAX_LIST).flatMap((one: unknown) => readSelector(one) ?? [])
    : [];
}

function isList(value: unknown): value is (string | number)[] {
  return (
    Array.isArray(value) && value.every((one) => typeof one === 'string' || typeof one === 'number')
  );
}
