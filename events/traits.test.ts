import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyJson } from './testing/arbitrary-json.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { inspectTraits, normaliseTraits, PROFILE_COLUMNS } from './traits.ts';
import type { Warning } from './warnings.ts';

const stored = (traits: JsonObject) => {
  const warnings: Warning[] = [];
  inspectTraits(traits, warnings);
  return { ...normaliseTraits(traits), warnings: warnings.map(({ code }) => code) };
};

describe('profile columns (ingest 2.3)', () => {
  test.each<[JsonObject, Record<string, string>]>([
    [{ email: '  Ali@Example.COM ' }, { email: 'ali@example.com' }],
    [{ email: 'no address' }, { email: 'no address' }],
    [
      { first_name: 'علي', last_name: 'كريمي' },
      { first_name: 'علی', last_name: 'کریمی' },
    ],
    [
      { city: ' تهران  بزرگ', region: 'البرز', country: 'IR' },
      { city: 'تهران بزرگ', region: 'البرز', country: 'IR' },
    ],
    [
      { push_opt_in: true, email_opt_in: false, sms_opt_in: 'yes' },
      { push_opt_in: 'true', email_opt_in: 'false', sms_opt_in: 'yes' },
    ],
    [
      { birthday: '1370-01-02', language: 'fa', timezone: 'Asia/Tehran' },
      { birthday: '1370-01-02', language: 'fa', timezone: 'Asia/Tehran' },
    ],
    [{ birthday: 13700102 }, { birthday: '13700102' }],
    [{ gender: 'M' }, { gender: 'male' }],
    [{ gender: 'خانم' }, { gender: 'female' }],
    [{ gender: 1 }, { gender: 'other' }],
    [{ national_id: '۰۰۱۳۵۴۲۴۱۹' }, { national_id: '0013542419' }],
    [{ email: null, city: null }, {}],
    [{ ' city ': 'قم' }, { city: 'قم' }],
  ])('are normalised from the traits %j', (traits, columns) => {
    expect(stored(traits)).toEqual({ columns, text: {}, numbers: {}, warnings: [] });
  });

  test('are fifteen traits', () => {
    expect(new Set(PROFILE_COLUMNS).size).toBe(15);
  });

  test.each<[JsonObject, string]>([
    [{ phone: '0912 123 4567' }, 'mci'],
    [{ phone: '+98 935 123 4567' }, 'irancell'],
    [{ phone: 9_211_234_567 }, 'rightel'],
  ])('store %j as an E.164 number with its operator', (traits, operator) => {
    const result = stored(traits);
    expect(result.columns.phone).toMatch(/^\+989\d{9}$/);
    expect(result.text).toEqual({ phone_operator: operator });
    expect(result.warnings).toEqual([]);
  });

  test('store an invalid phone as sent, without operator, with a warning', () => {
    expect(stored({ phone: ' +1 (202) 555-0100 ' })).toEqual({
      columns: { phone: ' +1 (202) 555-0100 ' },
      text: {},
      numbers: {},
      warnings: ['invalid_phone'],
    });
    expect(stored({ phone: true })).toEqual({
      columns: { phone: 'true' },
      text: {},
      numbers: {},
      warnings: ['invalid_phone'],
    });
  });

  test('drop an invalid national id with a warning', () => {
    expect(stored({ national_id: '0013542418' })).toEqual({
      columns: {},
      text: {},
      numbers: {},
      warnings: ['invalid_national_id'],
    });
  });
});

describe('free traits', () => {
  test('store numbers and booleans in both maps', () => {
    expect(stored({ age: 30, vip: true, level: '3', 'کد-مشتری': 'A' })).toEqual({
      columns: {},
      text: { age: '30', vip: 'true', level: '3', کد_مشتری: 'A' },
      numbers: { age: 30, vip: 1 },
      warnings: [],
    });
  });

  test('drop an overflowing number at any depth with a warning', () => {
    expect(stored({ a: Infinity, city: [Infinity], phone: -Infinity, b: 1 })).toEqual({
      columns: {},
      text: { b: '1' },
      numbers: { b: 1 },
      warnings: ['unserialisable_property', 'unserialisable_property', 'unserialisable_property'],
    });
  });

  test('do not count nulls', () => {
    const nulls = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`n${n}`, null]));
    const some = Object.fromEntries(Array.from({ length: 256 }, (_, n) => [`k${n}`, n]));
    expect(stored({ ...nulls, ...some }).warnings).toEqual([]);
    expect(Object.keys(stored({ ...nulls, ...some }).text)).toHaveLength(256);
  });

  test('keep 256 of 300 keys and warn with both counts', () => {
    const warnings: Warning[] = [];
    const traits = {
      none: null,
      ...Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`k${n}`, n])),
    };
    inspectTraits(traits, warnings);
    expect(warnings).toEqual([
      { code: 'too_many_traits', field: 'traits', note: 'sent 300, kept 256' },
    ]);
    expect(Object.keys(normaliseTraits(traits).text)).toHaveLength(256);
  });

  test('prefer the operator of a valid phone over a sent one', () => {
    expect(stored({ phone_operator: 7, phone: '09121234567' })).toMatchObject({
      text: { phone_operator: 'mci' },
      numbers: {},
    });
  });
});

test('columns and maps of any traits never share a key, and warnings match what is stored', () => {
  fc.assert(
    fc.property(
      anyJson.filter((value) => isJsonObject(value)),
      (traits) => {
        const { columns, text, numbers, warnings } = stored(traits);
        for (const key of [...Object.keys(text), ...Object.keys(numbers)])
          expect(PROFILE_COLUMNS).not.toContain(key);
        for (const value of [...Object.values(columns), ...Object.values(text)]) {
          expect(Buffer.byteLength(value)).toBeLessThanOrEqual(8192);
          expect(value.isWellFormed()).toBe(true);
        }
        if (columns.phone !== undefined && !warnings.includes('invalid_phone'))
          expect(columns.phone).toMatch(/^\+989\d{9}$/);
      },
    ),
    { numRuns: 1000 },
  );
});
