import fc from 'fast-check';
import { anyContextJson } from './arbitrary-context-json.ts';
import { anyEnvelope, anyJson, anyText } from './arbitrary-json.ts';

const space = fc.constantFrom('', '', ' ', '\n\t');
const commonText = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9._-]{0,12}$/),
  fc.stringMatching(/^[آ-یa-z ]{0,12}$/),
  fc.constantFrom('', ' x', 'علي', '🛒', 'x'.repeat(130), 'é'.repeat(70)),
);
function rarely<T>(common: fc.Arbitrary<T>, rare: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 60, arbitrary: common }, { weight: 1, arbitrary: rare });
}
const key = rarely(
  fc.oneof(
    fc.stringMatching(/^[a-zA-Z][a-z0-9_]{0,5}[a-z]$/),
    fc.constantFrom('revenue', 'total', 'value', 'price', 'quantity', 'currency', 'email'),
  ),
  anyText,
);
const value = rarely(
  fc.oneof(
    fc.integer().map(String),
    fc.integer({ min: -1e6, max: 1e6 }).map((cents) => String(cents / 100)),
    anyText.map((text) => JSON.stringify(text)),
    commonText.map((text) => JSON.stringify(text)),
    fc.constantFrom('true', 'false', 'null', '-0', '0.10', '"usd"', '[]', '[1, {"a":"\\n"}]'),
  ),
  fc.oneof(
    anyJson.map((json) => JSON.stringify(json)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
    fc.constant('1e999'),
  ),
);
const object = fc
  .tuple(fc.array(fc.tuple(key, value, space), { maxLength: 8 }), space)
  .map(([members, gap]) => {
    const texts = members.map(
      ([name, text, after]) => `${JSON.stringify(name)}${gap}:${after}${text}${after}`,
    );
    return `{${gap}${texts.join(',')}}`;
  });
const fieldText = rarely(commonText, anyText);
/** JSON text of an event, which is mostly common enough to be read from its bytes. */
export const anyEventJson: fc.Arbitrary<string> = rarely(
  fc
    .tuple(fieldText, fieldText, object, fc.option(object), fc.option(anyContextJson))
    .map(([name, id, properties, traits, context]) => {
      const fields = [`"event":${JSON.stringify(name)}`, `"user_id":${JSON.stringify(id)}`];
      fields.push(`"previous_id":${JSON.stringify(id)}`, `"properties":${properties}`);
      if (traits !== null) fields.push(`"traits":${traits}`);
      if (context !== null) fields.push(`"context":${context}`);
      return `{${fields.join(',')}}`;
    }),
  anyEnvelope.map((envelope) => JSON.stringify(envelope)),
);
