import fc from 'fast-check';
import { OPERATORS, type ValueKind } from '../conditions/condition.ts';
import { ATTRIBUTES, BANDS, isMetric, METRICS, type AttributeName } from '../attributes.ts';
import { TIMES_OPERATORS } from '../read.ts';

const texts = fc.constantFrom('', 'x', 'y', 'xy', 'تهران', '2', 'true');
const scalar = fc.constantFrom<string | number | boolean>('x', '', '2', 'تهران', 2, 1, 0, -0, true);
const small = fc.constantFrom(0, 1, 2, 3, 5, 7, 10, 14, 0.5);
const day = fc.constantFrom(
  '2026-09-21',
  '2026-09-20',
  '2026-09-13',
  '2026-08-21',
  '2026-09-20T23:30:00Z',
  '2026-09-13T23:30:00.001Z',
);

/** `op` and `value`, valid for the kind. */
function test(operators: readonly string[], kind: ValueKind): fc.Arbitrary<object> {
  const number = kind === 'date' ? day : small;
  const value =
    kind === 'boolean'
      ? fc.constantFrom(true, false, 'true')
      : kind === 'string'
        ? texts
        : kind === 'any'
          ? scalar
          : number;
  return fc.constantFrom(...operators).chain((op): fc.Arbitrary<object> => {
    if (op === 'is_set' || op === 'is_not_set') return fc.constant({ op });
    if (op === 'in' || op === 'not_in')
      return fc.array(value, { minLength: 1, maxLength: 3 }).map((list) => ({ op, value: list }));
    if (op === 'contains' || op === 'prefix') return texts.map((text) => ({ op, value: text }));
    if (op === 'between') return fc.tuple(number, number).map((bounds) => ({ op, value: bounds }));
    return (op === 'eq' || op === 'neq' ? value : number).map((one) => ({ op, value: one }));
  });
}

const attribute = fc
  .constantFrom<AttributeName>(
    'city',
    'birthday',
    'push_opt_in',
    'first_seen',
    'last_order_at',
    'total_revenue',
    'order_count',
    'has_push',
    'days_until_birthday',
    'days_since_last_seen',
  )
  .chain((name) =>
    test(ATTRIBUTES[name].operators, ATTRIBUTES[name].kind).map((one) => ({
      attribute: name,
      ...one,
    })),
  );
const metricNames = Object.keys(METRICS).filter(isMetric);
const metric = fc
  .constantFrom(...metricNames)
  .chain((name) =>
    test(METRICS[name].operators, 'number').map((one) => ({ engagement: name, ...one })),
  );
/** A condition on events of one name, as a client sends it. */
export const eventCondition = fc.record({
  event: fc.constantFrom('a', 'b', 'order_completed', 'never'),
  did: fc.constantFrom(true, false, undefined),
  times: fc.option(test(TIMES_OPERATORS, 'number'), { nil: undefined }),
  within_days: fc.constantFrom(undefined, 1, 7, 30),
  where: fc.option(
    fc.array(
      test(OPERATORS, 'any').map((one) => ({ property: 'p', ...one })),
      { maxLength: 2 },
    ),
    { nil: undefined },
  ),
});

const condition = fc.oneof(
  test(OPERATORS, 'any').map((one) => ({ trait: 't', ...one })),
  attribute,
  attribute,
  metric,
  fc.constantFrom(...BANDS).map((band) => ({ engagement: band })),
  eventCondition,
  eventCondition,
);

/** Audience definitions as a client sends them, all valid. */
export const definition: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', maxDepth: 3, withCrossShrink: true },
    condition,
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((of) => ({ all: of })),
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((of) => ({ any: of })),
    tie('node').map((of) => ({ not: of })),
  ),
})).node;
