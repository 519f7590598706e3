import { numberText } from '../../events/values.ts';
import { isProfileColumn } from '../../events/traits.ts';
import type { EventRow } from '../../schemas/records.ts';
import { EVENT_FIELDS, type EventField } from './event-fields.ts';
import type { Filter, Scalar, Target, Test } from './condition.ts';

/** What is stored under a target: absent, or its text and, where it has one, its number. */
export interface StoredValue {
  text: string | undefined;
  number: number | undefined;
}

/** The current traits of a person: the row of the view `people`. */
export interface PersonTraits {
  traits: Readonly<Record<string, string>>;
  trait_numbers: Readonly<Record<string, number>>;
  /** The fifteen profile columns; an empty text is absent. */
  columns: Readonly<Record<string, string>>;
}

export interface Subject {
  event: EventRow;
  person: PersonTraits | undefined;
}

/** True when the subject passes (reports: Shared by both reports). For the models: slow. */
export function matchesFilter(filter: Filter, subject: Subject): boolean {
  return matchesTest(filter.test, valueOf(filter.target, subject));
}

export function valueOf(target: Target, { event, person }: Subject): StoredValue | undefined {
  switch (target.kind) {
    case 'property':
      return fromMaps(target.name, event.properties, event.property_numbers);
    case 'field':
      return fieldValue(event, target.name);
    case 'trait': {
      if (person === undefined) return undefined;
      if (!isProfileColumn(target.name))
        return fromMaps(target.name, person.traits, person.trait_numbers);
      const text = person.columns[target.name] ?? '';
      return text === '' ? undefined : { text, number: undefined };
    }
  }
}

export function fromMaps(
  name: string,
  texts: Readonly<Record<string, string>>,
  numbers: Readonly<Record<string, number>>,
): StoredValue | undefined {
  const text = Object.hasOwn(texts, name) ? texts[name] : undefined;
  return text === undefined
    ? undefined
    : { text, number: Object.hasOwn(numbers, name) ? numbers[name] : undefined };
}

function fieldValue(event: EventRow, field: EventField): StoredValue | undefined {
  const stored = event[field];
  if (typeof stored === 'string')
    return stored === '' ? undefined : { text: stored, number: undefined };
  if (typeof stored === 'boolean') return { text: String(stored), number: Number(stored) };
  if (EVENT_FIELDS[field] === 'number') return { text: undefined, number: stored };
  return stored === 0 ? undefined : { text: numberText(stored), number: stored };
}

export function matchesTest(test: Test, stored: StoredValue | undefined): boolean {
  const number = stored?.number;
  switch (test.op) {
    case 'is_set':
      return stored !== undefined;
    case 'is_not_set':
      return stored === undefined;
    case 'eq':
      return isEqual(test.value, stored) === true;
    case 'neq':
      return isEqual(test.value, stored) === false;
    case 'in':
      return test.values.some((value) => isEqual(value, stored) === true);
    case 'not_in':
      return test.values.every((value) => isEqual(value, stored) === false);
    case 'contains':
      return stored?.text?.includes(test.text) ?? false;
    case 'prefix':
      return stored?.text?.startsWith(test.text) ?? false;
    case 'gt':
      return number !== undefined && number > test.number;
    case 'gte':
      return number !== undefined && number >= test.number;
    case 'lt':
      return number !== undefined && number < test.number;
    case 'lte':
      return number !== undefined && number <= test.number;
    case 'between':
      return number !== undefined && number >= test.low && number <= test.high;
  }
}

/** Undefined when there is nothing to compare with. */
function isEqual(value: Scalar, stored: StoredValue | undefined): boolean | undefined {
  if ('text' in value) return stored?.text === undefined ? undefined : stored.text === value.text;
  return stored?.number === undefined ? undefined : stored.number === value.number;
}
