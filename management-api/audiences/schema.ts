import Type, { type TSchema } from 'typebox';
import { OPERATORS } from '../conditions/condition.ts';
import { KeySchema, SCALARS, testSchemas } from '../conditions/schema.ts';
import { ATTRIBUTES, BANDS, METRICS } from './attributes.ts';
import { MAX_CONDITIONS, MAX_DAYS, MAX_DEPTH, TIMES_OPERATORS } from './read.ts';

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
  testSchemas(['gt', 'gte', 'lt', 'lte', 'between'], 'number'),
);
const band = Type.Object({
  engagement: Type.Enum([...BANDS]),
  op: Type.Optional(Type.Enum(['eq', 'neq'])),
  value: Type.Optional(SCALARS.boolean),
});
const event = Type.Object({
  event: Type.String({ minLength: 1 }),
  did: Type.Optional(Type.Boolean({ default: true })),
  times: Type.Optional(Type.Union(testSchemas(TIMES_OPERATORS, 'number'))),
  within_days: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_DAYS })),
  where: Type.Optional(Type.Array(condition('property', KeySchema, testSchemas(OPERATORS, 'any')))),
});

/**
 * The language of audience definitions as JSON Schema 2020-12; docs/audience.schema.json is
 * generated from it. readAudience accepts what the schema accepts, and also checks nesting, the
 * number of conditions and lengths in bytes.
 */
export const audienceSchema = Type.Unsafe<unknown>({
  $id: 'Audience',
  title: 'Audience',
  description: `Who is in an audience (docs/audiences.md). At most ${MAX_DEPTH} nested groups and ${MAX_CONDITIONS} conditions, property conditions of events included.`,
  oneOf: [
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
