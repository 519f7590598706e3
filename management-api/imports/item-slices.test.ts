import fc from 'fast-check';
import { expect, it } from 'vitest';
import { itemSlices } from './item-slices.ts';

it('cuts out exactly the items that JSON.parse finds, whatever stands in and around them', () => {
  const space = fc.constantFrom('', ' ', '\n\t');
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      fc.dictionary(fc.string(), fc.jsonValue()),
      space,
      (items, around, blank) => {
        const text = `${blank}{${blank}${[...Object.entries(around).map(([key, value]) => `${JSON.stringify(key)}:${blank}${JSON.stringify(value)}`), `"events":${blank}[${blank}${items.map((item) => JSON.stringify(item)).join(`${blank},${blank}`)}${blank}]`].join(`${blank},`)}${blank}}`;
        const slices = itemSlices(Buffer.from(text), 'events').map((slice) => slice.toString());
        expect(slices).toEqual(items.map((item) => JSON.stringify(item)));
      },
    ),
  );
});

it('keeps the bytes of numbers and takes the last of two equal keys', () => {
  expect(
    itemSlices(
      Buffer.from('{"events":[1],"eve\\u006ets":[{"n":1.50e3}, 12345678901234567890]}'),
      'events',
    ).map(String),
  ).toEqual(['{"n":1.50e3}', '12345678901234567890']);
});
