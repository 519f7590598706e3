import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyJson } from './testing/arbitrary-json.ts';
import { isJsonObject } from './json.ts';
import { inspectProperties, normaliseProperties } from './properties.ts';
import type { Warning } from './warnings.ts';

const stored = (json: string) => {
  const body: unknown = JSON.parse(json);
  if (!isJsonObject(body)) throw new Error('not an object');
  const warnings: Warning[] = [];
  inspectProperties(body, warnings);
  return { ...normaliseProperties(body), warnings };
};

describe('property values (ingest 2.3)', () => {
  test.each<[string, Record<string, string>, Record<string, number>]>([
    ['{"a":null}', {}, {}],
    ['{"a":" كتاب  خوب "}', { a: 'کتاب خوب' }, {}],
    ['{"a":""}', { a: '' }, {}],
    ['{"a":true,"b":false}', { a: 'true', b: 'false' }, { a: 1, b: 0 }],
    [
      '{"a":12.50,"b":3.0,"c":-0,"d":1e21}',
      { a: '12.5', b: '3', c: '0', d: '1000000000000000000000' },
      { a: 12.5, b: 3, c: 0, d: 1e21 },
    ],
    ['{"a":"12.5","b":"۱۲"}', { a: '12.5', b: '۱۲' }, {}],
    ['{"a":[1,"ي",null],"b":{"k.v":true}}', { a: '[1,"ي",null]', b: '{"k.v":true}' }, {}],
    ['{"a":"x\\ud800y"}', { a: 'x\ufffdy' }, {}],
    [
      '{"__proto__":"x","toString":1,"constructor":"c"}',
      { proto: 'x', toString: '1', constructor: 'c' },
      { toString: 1 },
    ],
    ['{" . ":1,"a":2}', { a: '2' }, { a: 2 }],
  ])('of %s go to the maps of their types', (json, text, numbers) => {
    expect(stored(json)).toEqual({ text, numbers, warnings: [] });
  });

  test('are cut to 8192 bytes between two characters', () => {
    expect(stored(JSON.stringify({ a: `x${'ن'.repeat(5000)}` })).text['a']).toBe(
      `x${'ن'.repeat(4095)}`,
    );
  });
});

describe('keys that normalise to the same key', () => {
  test.each<[string, Record<string, string>, Record<string, number>]>([
    ['{"a b":1,"a.b":"x"}', { a_b: 'x' }, {}],
    ['{"a.b":"x","a_b":2}', { a_b: '2' }, { a_b: 2 }],
    ['{"a_b":2,"a b":"x"}', { a_b: 'x' }, {}],
    ['{"a.b":1,"a b":null}', { a_b: '1' }, { a_b: 1 }],
  ])('keep the later value in both maps: %s', (json, text, numbers) => {
    expect(stored(json)).toEqual({ text, numbers, warnings: [] });
  });
});

describe('a value that JSON cannot encode', () => {
  test.each([
    ['{"a":1e999,"b":1}', { b: '1' }, ['a']],
    ['{"x.y":[{"z":-1e999}],"b":1}', { b: '1' }, ['x_y']],
    ['{"..":1e999,"b":1}', { b: '1' }, []],
  ])('is dropped from %s', (json, text, fields) => {
    const result = stored(json);
    expect(result.text).toEqual(text);
    expect(result.warnings.map(({ code, field }) => [code, field])).toEqual(
      fields.map((field) => ['unserialisable_property', field]),
    );
  });
});

describe('the limit of 256 keys', () => {
  const many = (count: number, value: unknown) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value])));

  test('allows 256 keys without a warning', () => {
    const result = stored(many(256, 'v'));
    expect(Object.keys(result.text)).toHaveLength(256);
    expect(result.warnings).toEqual([]);
  });

  test('keeps 256 of 300 keys and warns with both counts', () => {
    const result = stored(many(300, 1));
    expect(Object.keys(result.text)).toHaveLength(256);
    expect(Object.keys(result.numbers)).toHaveLength(256);
    expect(result.warnings).toEqual([
      { code: 'too_many_properties', field: 'properties', note: 'sent 300, kept 256' },
    ]);
  });

  test('counts nulls', () => {
    const result = stored(
      `{${Array.from({ length: 256 }, (_, n) => `"n${n}":null`).join()},"late":1}`,
    );
    expect(result.text).toEqual({});
    expect(result.warnings.map(({ code }) => code)).toEqual(['too_many_properties']);
  });

  test('gives no further warnings for dropped keys', () => {
    const result = stored(
      `{${Array.from({ length: 256 }, (_, n) => `"k${n}":0`).join()},"late":1e999}`,
    );
    expect(result.warnings.map(({ code }) => code)).toEqual(['too_many_properties']);
  });
});

test('every kept key of any object is stored, null or reported in a warning', () => {
  fc.assert(
    fc.property(
      anyJson.filter((value) => isJsonObject(value)),
      (properties) => {
        const { text, numbers } = normaliseProperties(properties);
        const warnings: Warning[] = [];
        inspectProperties(properties, warnings);
        for (const [key, value] of Object.entries(text)) {
          expect(Buffer.byteLength(key)).toBeLessThanOrEqual(128);
          expect(Buffer.byteLength(value)).toBeLessThanOrEqual(8192);
          expect((key + value).isWellFormed()).toBe(true);
        }
        for (const key of Object.keys(numbers)) expect(Object.hasOwn(text, key)).toBe(true);
        for (const { field } of warnings) expect(field).toBeDefined();
      },
    ),
    { numRuns: 1000 },
  );
});
