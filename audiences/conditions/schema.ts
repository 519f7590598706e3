import Type, { type TSchema } from 'typebox';
import { OPERATORS, type Operator, type ValueKind } from './condition.ts';
import { EVENT_FIELDS } from './event-fields.ts';
import { MAX_KEY_BYTES, MAX_LIST_VALUES, readInstant, readKey, TEHRAN } from './read-test.ts';

export const KeySchema = Type.Refine(
  Type.String({ minLength: 1, description: `At most ${MAX_KEY_BYTES} bytes` }),
  (key) => readKey(key).ok,
);

export const OperatorSchema = Type.Enum([...OPERATORS]);
export const EventFieldSchema = Type.Enum(Object.keys(EVENT_FIELDS));

export const SCALARS: Readonly<Record<ValueKind, TSchema>> = {
  string: Type.Union([Type.String(), Type.Boolean()]),
  boolean: Type.Enum([true, false, 'true', 'false'] as unknown as string[]),
  number: Type.Number(),
  date: Type.Refine(
    Type.String({ description: 'RFC 3339, or YYYY-MM-DD: the start of that day in Tehran' }),
    (text) => !Number.isNaN(readInstant(text, TEHRAN)),
  ),
  any: Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
};

/** `op` and `value` in their valid combinations, for these operators over values of a kind. */
export function testSchemas(operators: readonly Operator[], kind: ValueKind): TSchema[] {
  const scalar = SCALARS[kind];
  const ordered = kind === 'date' ? SCALARS.date : SCALARS.number;
  const rows: [Operator[], TSchema | undefined][] = [
    [['eq', 'neq'], scalar],
    [['in', 'not_in'], Type.Array(scalar, { minItems: 1, maxItems: MAX_LIST_VALUES })],
    [['contains', 'prefix'], Type.String()],
    [['gt', 'gte', 'lt', 'lte'], ordered],
    [['between'], Type.Array(ordered, { minItems: 2, maxItems: 2 })],
    [['is_set', 'is_not_set'], undefined],
  ];
  return rows.flatMap(([names, value]) => {
    const offered = names.filter((name) => operators.includes(name));
    if (offered.length === 0) return [];
    const op = Type.Enum(offered);
    return [value ? Type.Object({ op, value }) : Type.Object({ op })];
  });
}
