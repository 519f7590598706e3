import fc from 'fast-check';
import { anyJson, anyText } from './arbitrary-json.ts';

const PARTS = {
  device: ['type', 'model', 'manufacturer', 'push_provider', 'id'],
  os: ['name', 'version'],
  page: ['url', 'path', 'referrer', 'title', 'search'],
  campaign: [
    ...['source', 'medium', 'name', 'term', 'content'],
    ...['campaign_id', 'journey_id', 'variant_id', 'message_id', 'token'],
  ],
  location: ['country', 'region', 'city'],
  library: ['name', 'version'],
  app: ['version', 'build'],
  network: ['carrier', 'wifi'],
};
const space = fc.constantFrom('', '', '', ' ', '\n\t');
const text = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9 ._:/-]{0,40}$/),
  fc.stringMatching(/^[آ-یa-z ]{0,20}$/),
  fc.constantFrom('', 'علي', '🛒', ' x', 'iOS', 'Android', 'Samsung', 'İ', '007', '12', '١٢'),
  fc.constantFrom(31, 32, 33, 64, 65, 128, 129, 256, 257).map((length) => 'x'.repeat(length)),
  fc.constantFrom(16, 17, 32, 33, 256, 1025).map((length) => 'é'.repeat(length)),
  fc.constantFrom('9007199254740991', '9007199254740992', '00000000000000012', '2049'.repeat(600)),
);
const value = fc.oneof(
  { weight: 100, arbitrary: text.map((one) => JSON.stringify(one)) },
  { weight: 2, arbitrary: fc.constantFrom('null', 'true', '{}', '[]', '{"name":"x"}', '""') },
  { weight: 2, arbitrary: fc.nat().map(String) },
  {
    weight: 1,
    arbitrary: fc.oneof(
      anyText.map((one) => JSON.stringify(one)),
      anyJson.map((one) => JSON.stringify(one)),
      fc.constantFrom('1.50', '-3', '1e3', '12345678901234567', '"\\u0041"', '0', '-0'),
    ),
  },
);

function objectOf(keys: readonly string[], values: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const key = fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom(...keys).map((one) => JSON.stringify(one)) },
    { weight: 1, arbitrary: anyText.map((one) => JSON.stringify(one)) },
    { weight: 1, arbitrary: fc.constantFrom('"\\u006ename"', '"__proto__"', '""', '"Name"') },
  );
  const member = fc.tuple(key, space, values, space).map(([name, before, one, after]) => ({
    name,
    text: `${name}${before}:${after}${one}${after}`,
  }));
  return fc
    .tuple(
      // Equal keys are seldom.
      fc.oneof(
        { weight: 9, arbitrary: fc.uniqueArray(member, { selector: ({ name }) => name }) },
        { weight: 1, arbitrary: fc.array(member, { maxLength: 6 }) },
      ),
      space,
    )
    .map(([members, gap]) => `{${gap}${members.map((one) => one.text).join(',')}}`);
}

const part = fc
  .constantFrom(...(Object.keys(PARTS) as (keyof typeof PARTS)[]))
  .chain((name) =>
    fc
      .oneof(
        { weight: 15, arbitrary: objectOf(PARTS[name], value) },
        { weight: 1, arbitrary: value },
      )
      .map((json) => ({ name, text: `"${name}":${json}` })),
  );

/** JSON text of a context: fields that columns are made of, others, and values of any type. */
export const anyContextJson: fc.Arbitrary<string> = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: fc.uniqueArray(part, { selector: ({ name }) => name }) },
      { weight: 1, arbitrary: fc.array(part, { maxLength: 4 }) },
    ),
    objectOf(['ip', 'locale', 'timezone', 'session_id', 'user'], value),
  )
  .map(([parts, rest]) => {
    const others = rest.trim().slice(1, -1).trim();
    return `{${[...parts.map((one) => one.text), ...(others === '' ? [] : [others])].join(',')}}`;
  });
