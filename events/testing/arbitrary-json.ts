import fc from 'fast-check';

/** Any string of UTF-16 units, among them lone surrogates, controls, Arabic letters and marks. */
export const anyText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
      { weight: 4, arbitrary: fc.integer({ min: 0x0600, max: 0x06ff }) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          0x20,
          0x09,
          0xa0,
          0xfeff,
          0x200c,
          0x200d,
          0x0654,
          0x0653,
          0x2d,
          0x2e,
          0x5f,
        ),
      },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xffff }) },
    ),
    { maxLength: 60 },
  )
  .map((units) => String.fromCharCode(...units));

/** Any value that JSON.parse can return, among them Infinity (from 1e999) and `__proto__` keys. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec<{
  value: unknown;
  object: Record<string, unknown>;
}>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(
      anyText,
      fc.double({ noNaN: true }),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom(null, Infinity, -Infinity, -0, 1e21, 1e-7),
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc
    .array(
      fc.tuple(
        fc.oneof(
          anyText,
          fc.constantFrom(
            'revenue',
            'price',
            'quantity',
            'currency',
            'phone',
            'national_id',
            'gender',
            'email',
            '__proto__',
            'toString',
          ),
        ),
        tie('value'),
      ),
      { maxLength: 6 },
    )
    .map((entries) => Object.fromEntries(entries)),
})).value;

/** An envelope whose fields mostly have the right types. */
export const anyEnvelope: fc.Arbitrary<Record<string, unknown>> = fc.record(
  {
    type: fc.oneof(
      fc.constantFrom('track', 'identify', 'page', 'screen', 'alias'),
      anyText,
      anyJson,
    ),
    event: fc.oneof({ weight: 5, arbitrary: anyText }, anyJson),
    user_id: fc.oneof({ weight: 5, arbitrary: anyText }, anyJson),
    anonymous_id: fc.oneof({ weight: 5, arbitrary: anyText }, anyJson),
    previous_id: fc.oneof({ weight: 5, arbitrary: anyText }, anyJson),
    message_id: fc.oneof({ weight: 5, arbitrary: anyText }, anyJson),
    timestamp: fc.oneof(
      {
        weight: 5,
        arbitrary: fc.constantFrom(
          '2026-11-21T10:00:00Z',
          '2026-11-20T10:00:00+03:30',
          '1999-01-01T00:00:00Z',
          null,
        ),
      },
      anyJson,
    ),
    properties: fc.oneof(
      { weight: 5, arbitrary: fc.dictionary(anyText, anyJson, { maxKeys: 5 }) },
      anyJson,
    ),
    traits: fc.oneof(
      { weight: 5, arbitrary: fc.dictionary(anyText, anyJson, { maxKeys: 5 }) },
      anyJson,
    ),
    context: fc.oneof(
      {
        weight: 5,
        arbitrary: fc.dictionary(
          fc.constantFrom(
            'page',
            'device',
            'os',
            'campaign',
            'location',
            'library',
            'ip',
            'locale',
          ),
          anyJson,
        ),
      },
      anyJson,
    ),
  },
  { requiredKeys: [] },
);
