import Type from 'typebox';
import { fitsBytes } from '../../events/bytes.ts';
import { isJsonObject, type JsonObject } from '../../events/json.ts';
import { normalisePersian } from '../../events/persian.ts';
import {
  OPERATORS,
  type EventSelector,
  type Filter,
  type Target,
} from '../../audiences/conditions/condition.ts';
import { EVENT_FIELDS, isEventField } from '../../audiences/conditions/event-fields.ts';
import {
  isPersianTarget,
  readKey,
  readTest,
  type TestProblem,
} from '../../audiences/conditions/read-test.ts';
import { EventFieldSchema, KeySchema, OperatorSchema } from '../../audiences/conditions/schema.ts';
import type { BodyRules, Rule } from '../http/check-body.ts';
import { reject } from './report-problem.ts';

/** Bounds of management 8.3, in bytes as sent. */
const MAX_FILTERS = 10;
const MAX_VALUE_BYTES = 512;
/** Longer than what ingest stores: such a name is valid and matches nothing. */
const MAX_EVENT_BYTES = 256;
const MAX_VALUES = 100;
const DEFAULT_VALUES = 25;

/** Exactly one of the three. */
const TARGET = {
  property: Type.Optional(KeySchema),
  field: Type.Optional(EventFieldSchema),
  trait: Type.Optional(KeySchema),
};
const FilterSchema = Type.Object(
  { ...TARGET, op: OperatorSchema, value: Type.Optional(Type.Unknown()) },
  { $id: 'ReportFilter', description: 'Exactly one of property, field and trait' },
);
export const FiltersSchema = Type.Optional(
  Type.Array(FilterSchema, { description: `At most ${MAX_FILTERS} in all lists of a report` }),
);
/** A step, start or return; exclusions add to it. */
export const SELECTOR = {
  event: Type.String({ description: `At most ${MAX_EVENT_BYTES} bytes` }),
  filters: FiltersSchema,
};
export const SelectorSchema = Type.Object(SELECTOR, { $id: 'EventSelector' });

const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: MAX_VALUES, default: DEFAULT_VALUES }),
);
const step = Type.Optional(Type.Integer({ minimum: 1, default: 1 }));
/** Exactly one of property, field and trait. */
export const BreakdownSchema = Type.Optional(Type.Object({ ...TARGET, step, limit }));

/** Splits a report by a value (reports: Funnel, Retention). */
export interface Breakdown {
  target: Target;
  /** 1-based step of the counted path whose event has the value; 1 in retention. */
  step: number;
  /** Values listed separately; the others are counted together. */
  limit: number;
}

type Sent<T> = T | null | undefined;
interface SentSelector {
  event: string;
  filters?: Sent<readonly object[]>;
}

/**
 * What JSON Schema cannot say about events, filters and the breakdown. `lists`: patterns of the
 * lists of filters; they share the bound of ten. `steps`: how many steps there are.
 */
export function selectorRules({
  events,
  lists,
  steps,
}: {
  events: readonly string[];
  lists: readonly string[];
  steps: () => number;
}): Required<Pick<BodyRules, 'before' | 'after'>> {
  let filters = 0;
  const before: Rule = (value, path) => {
    if (++filters > MAX_FILTERS) reject('too_many_filters');
    if (isJsonObject(value)) readTarget(value, { path, problem: 'filter' });
  };
  const each = (patterns: readonly string[], rule: Rule) =>
    Object.fromEntries(patterns.map((pattern) => [pattern, rule]));
  return {
    before: {
      ...each(
        lists.map((list) => `${list}[]`),
        before,
      ),
      breakdown: checkBreakdownTarget,
    },
    after: {
      ...each(
        lists.map((list) => `${list}[]`),
        (value, path) => void readFilter(value as JsonObject, path),
      ),
      ...each(events, (value, path) => void readEventName(String(value), path)),
      'breakdown.step': (value, path) => {
        if (typeof value === 'number' && value > steps()) reject('option', path);
      },
    },
  };
}

/** Of a selector that passed the rules. */
export function readSelector({ event, filters }: SentSelector): EventSelector {
  return { event: readEventName(event, ''), filters: readFilters(filters) };
}

export function readFilters(sent: Sent<readonly object[]>): Filter[] {
  return (sent ?? []).map((one) => readFilter(one as JsonObject, ''));
}

export function readBreakdown(
  sent: Sent<{ step?: Sent<number>; limit?: Sent<number> }>,
): Breakdown | undefined {
  if (!sent) return undefined;
  return {
    target: readTarget(sent, { path: 'breakdown', problem: 'option' }),
    step: sent.step ?? 1,
    limit: sent.limit ?? DEFAULT_VALUES,
  };
}

/**
 * The event's name as it is stored (ingest 2.3). Not cut to the length that ingest stores, so that
 * a longer one matches nothing.
 */
function readEventName(sent: string, path: string): string {
  if (!fitsBytes(sent, MAX_EVENT_BYTES)) return reject('event_too_long');
  const event = normalisePersian(sent, 2 * MAX_EVENT_BYTES);
  return event === '' ? reject('event_missing', path) : event;
}

function readFilter(fields: JsonObject, path: string): Filter {
  const target = readTarget(fields, { path, problem: 'filter' });
  const test = readTest(
    { op: fields['op'], value: fields['value'] },
    {
      operators: OPERATORS,
      kind: 'any',
      isPersian: isPersianTarget(target),
      maxTextBytes: MAX_VALUE_BYTES,
      reject: (problem) => rejectTest(problem, path),
    },
  );
  return { target, test };
}

function rejectTest({ kind }: TestProblem, path: string): never {
  if (kind === 'text_too_long') return reject('value_too_long');
  return reject('filter', `${path}.${kind === 'unknown_operator' ? 'op' : 'value'}`);
}

/** The one of property, field and trait that is named. */
function readTarget(
  fields: JsonObject,
  { path, problem }: { path: string; problem: 'filter' | 'option' },
): Target {
  const named = (['property', 'field', 'trait'] as const).filter(
    (kind) => fields[kind] !== undefined && fields[kind] !== null,
  );
  const kind = named[0];
  const sent = kind === undefined ? undefined : fields[kind];
  if (kind === undefined || named.length > 1 || typeof sent !== 'string')
    return reject(problem, path);
  const read = readKey(sent);
  if (!read.ok && read.problem === 'too_long') return reject('key_too_long');
  if (kind === 'field')
    return isEventField(sent) ? { kind, name: sent } : reject(problem, `${path}.field`);
  return read.ok ? { kind, name: read.key } : reject(problem, `${path}.${kind}`);
}

function checkBreakdownTarget(value: unknown, path: string): void {
  if (!isJsonObject(value)) return;
  const target = readTarget(value, { path, problem: 'option' });
  // a revenue has no text to list it under
  if (target.kind === 'field' && EVENT_FIELDS[target.name] === 'number')
    reject('option', `${path}.field`);
}
