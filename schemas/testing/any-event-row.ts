import fc from 'fast-check';
import { eventRowCodec } from '../codec.ts';
import type { EventRow } from '../records.ts';

const text = fc.oneof(
  fc.constant(''),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 90 }),
  fc.constantFrom(
    'سلام دنیا',
    '👍🏽 خرید',
    'x'.repeat(63),
    'x'.repeat(64),
    'é'.repeat(31),
    'é'.repeat(32),
    '€'.repeat(2730),
    '€'.repeat(2731),
    'x'.repeat(9000),
  ),
);
/** Above this the codec of avsc loses the lowest bit. */
const EXACT = 2 ** 51;
const long = fc.oneof(
  fc.constantFrom(0, 1, -1, 63, 64, -64, -65, 2 ** 30, -(2 ** 30), 2 ** 31, -(2 ** 31), 2 ** 40),
  fc.integer({ min: -EXACT, max: EXACT }),
);
const arbitraries: Record<string, fc.Arbitrary<unknown>> = {
  string: text,
  long,
  int: fc.integer(),
  double: fc.double({ noNaN: true }),
  boolean: fc.boolean(),
};

/** A row with an arbitrary value of the schema's type in every column. */
export const anyRow = fc.record(
  Object.fromEntries(
    (
      eventRowCodec.type.schema() as {
        fields: { name: string; type: string | { values: string } }[];
      }
    ).fields.map(({ name, type }) => [
      name,
      typeof type === 'string'
        ? arbitraries[type]
        : fc.dictionary(text, arbitraries[type.values] ?? fc.nat(), {
            noNullPrototype: true,
            maxKeys: 5,
          }),
    ]),
  ) as Record<string, fc.Arbitrary<unknown>>,
) as unknown as fc.Arbitrary<EventRow>;
