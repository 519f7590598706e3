import Type, { type TSchema } from 'typebox';
import { OPERATORS } from './conditions/condition.ts';
import { KeySchema, SCALARS, testSchemas } from './conditions/schema.ts';
import { ATTRIBUTES, BANDS, METRICS, NUMBER } from './attributes.ts';
import {
  KINDS,
  MAX_CONDITIONS,
  MAX_DAYS,
  MAX_DEPTH,
  readEventName,
  TIMES_OPERATORS,
} from './read.ts';

/** The definition inside a definition. */
const Inner = Type.Unsafe<unknown>({ $ref: '#' });

function condition(key: string, name: TSchema, tests: TSchema[]): TSchema {
  return Type.Unsafe({ ...Type.Object({ [key]: name }), anyOf: tests });
}

const Group = (key: 'all' | 'any') => Type.Object({ [key]: Type.Array(Inner, { minItems: 1 }) });

const attributes = Object.entries(ATTRIBUTES).map(([name, { operators, kind }]) =>
  condition('attribute', Type.Literal(name), testSchemas(operators, kind)),
);
const metric = condition(
  'engagement',
  Type.Enum(Object.keys(METRICS)),
  testSchemas(NUMBER, 'number'),
);
const band = Type.Object({
  engagement: Type.Enum([...BANDS]),
  op: Type.Optional(Type.Enum(['eq', 'neq'])),
  value: Type.Optional(SCALARS.boolean),
});
const event = Type.Object({
  event: Type.Refine(Type.String({ minLength: 1 }), (name) => readEventName(name) !== ''),
  did: Type.Optional(Type.Boolean({ default: true })),
  times: Type.Optional(Type.Union(testSchemas(TIMES_OPERATORS, 'number'))),
  within_days: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_DAYS })),
  where: Type.Optional(Type.Array(condition('property', KeySchema, testSchemas(OPERATORS, 'any')))),
});

/**
 * The language of audience definitions as JSON Schema 2020-12; docs/audience.schema.json is
 * generated from it. readAudience accepts exactly what the schema accepts (schema.test.ts), except
 * that it bounds nesting and the number of conditions and ignores properties that are null.
 */
export const audienceSchema = Type.Unsafe<unknown>({
  $id: 'Audience',
  title: 'Audience',
  description: `Who is in an audience (docs/audiences.md). At most ${MAX_DEPTH} nested groups and ${MAX_CONDITIONS} conditions, property conditions of events included.`,
  oneOf: KINDS.map((kind) => ({ required: [kind] })),
  anyOf: [
    Group('all'),
    Group('any'),
    Type.Object({ not: Inner }),
    condition('trait', KeySchema, testSchemas(OPERATORS, 'any')),
    ...attributes,
    metric,
    band,
    event,
  ],
});
