import {
  ATTRIBUTES,
  BANDS,
  METRICS,
  OPERATORS,
  type AttributeKind,
  type Operator,
} from './attributes.ts';
import { MAX_CONDITIONS, MAX_DEPTH, MAX_KEY_BYTES, MAX_LIST_VALUES } from './problem.ts';

type Schema = Record<string, unknown>;

const SCALAR: Record<AttributeKind | 'any', Schema> = {
  string: { type: ['string', 'boolean'] },
  boolean: { enum: [true, false, 'true', 'false'] },
  number: { type: 'number' },
  date: { type: 'string', description: 'RFC 3339, or YYYY-MM-DD: the start of that day in Tehran' },
  any: { type: ['string', 'number', 'boolean'] },
};

/** `op` and `value` as they belong together, for these operators over values of a kind. */
function tests(operators: readonly Operator[], kind: AttributeKind | 'any'): Schema[] {
  const scalar = SCALAR[kind];
  const ordered = kind === 'date' ? SCALAR.date : SCALAR.number;
  const offered = (...names: Operator[]) => names.filter((name) => operators.includes(name));
  const rows: [Operator[], Schema | undefined][] = [
    [offered('eq', 'neq'), scalar],
    [
      offered('in', 'not_in'),
      { type: 'array', items: scalar, minItems: 1, maxItems: MAX_LIST_VALUES },
    ],
    [offered('contains', 'prefix'), { type: 'string' }],
    [offered('gt', 'gte', 'lt', 'lte'), ordered],
    [offered('between'), { type: 'array', items: ordered, minItems: 2, maxItems: 2 }],
    [offered('is_set', 'is_not_set'), undefined],
  ];
  return rows.flatMap(([names, value]) => {
    if (names.length === 0) return [];
    return [
      {
        properties: { op: { enum: names }, ...(value ? { value } : {}) },
        required: value ? ['op', 'value'] : ['op'],
      },
    ];
  });
}

const KEY: Schema = { type: 'string', minLength: 1, description: `At most ${MAX_KEY_BYTES} bytes` };

function condition(key: string, name: Schema, choices: Schema[]): Schema {
  return { type: 'object', properties: { [key]: name }, required: [key], anyOf: choices };
}

const group = (key: 'all' | 'any'): Schema => ({
  type: 'object',
  properties: { [key]: { type: 'array', items: { $ref: '#' }, minItems: 1 } },
  required: [key],
});

const attributes = Object.entries(ATTRIBUTES).map(([name, { operators, kind }]) =>
  condition('attribute', { const: name }, tests(operators, kind)),
);
const metric = condition(
  'engagement',
  { enum: Object.keys(METRICS) },
  tests(['gt', 'gte', 'lt', 'lte', 'between'], 'number'),
);
const band: Schema = {
  type: 'object',
  properties: { engagement: { enum: BANDS }, op: { enum: ['eq', 'neq'] }, value: SCALAR.boolean },
  required: ['engagement'],
};
const event: Schema = {
  type: 'object',
  properties: {
    event: { type: 'string', minLength: 1 },
    did: { type: 'boolean', default: true },
    times: {
      type: 'object',
      anyOf: tests(['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'between'], 'number'),
    },
    within_days: { type: 'integer', minimum: 1, maximum: 3650 },
    where: { type: 'array', items: condition('property', KEY, tests(OPERATORS, 'any')) },
  },
  required: ['event'],
};

/**
 * The language of audience definitions as JSON Schema 2020-12; docs/audience.schema.json is made
 * from it. What it cannot say: nesting and the number of conditions.
 */
export const audienceSchema: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Audience',
  description: `Who is in an audience (docs/audiences.md). At most ${MAX_DEPTH} groups inside each other and ${MAX_CONDITIONS} conditions, property conditions of events among them.`,
  oneOf: [
    group('all'),
    group('any'),
    { type: 'object', properties: { not: { $ref: '#' } }, required: ['not'] },
    condition('trait', KEY, tests(OPERATORS, 'any')),
    ...attributes,
    metric,
    band,
    event,
  ],
};
