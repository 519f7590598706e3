import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SqlParams } from '../platform/clickhouse/sql.ts';
import { compileCount } from './compile.ts';
import { readAudience } from './read.ts';

const CITY = { attribute: 'city', op: 'eq', value: 'تهران' };
const message = (definition: unknown) => {
  const outcome = readAudience(definition);
  return outcome.ok
    ? `valid: ${outcome.audience.conditions} conditions, depth ${outcome.audience.depth}`
    : outcome.message;
};
const wrapped = (levels: number) =>
  Array.from({ length: levels }).reduce<unknown>((inside) => ({ all: [inside] }), CITY);

describe('the reader of definitions (management 8.3)', () => {
  it('accepts eight nested groups, and not nine', () => {
    expect(message(CITY)).toBe('valid: 1 conditions, depth 0');
    expect(message(wrapped(8))).toBe('valid: 1 conditions, depth 8');
    expect(message(wrapped(9))).toBe('segment: nesting too deep');
    expect(message(wrapped(5000))).toBe('segment: nesting too deep');
  });

  it('accepts at most 200 conditions, property conditions included', () => {
    const where = (count: number) =>
      Array.from({ length: count }, () => ({ property: 'p', op: 'is_set' }));
    expect(message({ event: 'e', where: where(199) })).toBe('valid: 200 conditions, depth 0');
    expect(message({ event: 'e', where: where(200) })).toBe('segment: too many conditions');
    expect(message({ any: Array.from({ length: 201 }, () => CITY) })).toBe(
      'segment: too many conditions',
    );
  });

  it('accepts lists of 1000 values and keys of 128 bytes, and no longer ones', () => {
    const list = (length: number) => ({
      trait: 't',
      op: 'in',
      value: Array.from({ length }, (_, at) => at),
    });
    expect(message(list(1000))).toContain('valid');
    expect(message(list(1001))).toBe('segment: list has too many values');
    expect(message({ trait: 'é'.repeat(64), op: 'is_set' })).toContain('valid');
    expect(message({ trait: 'é'.repeat(65), op: 'is_set' })).toBe(
      'segment: key is longer than 128 bytes at $.trait',
    );
  });
});

describe('an invalid definition', () => {
  it('is answered with a short sentence, whatever stands in place of a name or an operator', () => {
    const nested = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000)) as unknown;
    const places = (value: unknown) => [
      { attribute: value, op: 'is_set' },
      { engagement: value },
      { trait: 't', op: value },
      { event: 'e', times: { op: value, value: 1 } },
      { event: 'e', where: [{ property: 'p', op: value }] },
    ];
    for (const value of [nested, { nested }, 'x'.repeat(1_000_000), Array(10_000).fill('x'), 1e300])
      for (const definition of places(value)) {
        const sentence = message(definition);
        expect(sentence).toMatch(/^segment: unknown /);
        expect(sentence.length).toBeLessThan(200);
      }
  });

  it.each([
    [null, 'segment: expected an object at $'],
    [
      {},
      'segment: expected exactly one of all, any, not, trait, attribute, engagement, event at $',
    ],
    [
      { trait: 't', event: 'e' },
      'segment: expected exactly one of all, any, not, trait, attribute, engagement, event at $',
    ],
    [{ all: [] }, 'segment: all takes a list of at least one condition at $.all'],
    [{ any: [CITY, { not: 7 }] }, 'segment: expected an object at $.any[1].not'],
    [
      { attribute: 'shoe_size', op: 'eq', value: 1 },
      "segment: unknown attribute 'shoe_size' at $.attribute",
    ],
    [
      { attribute: 'order_count', op: 'in', value: [1] },
      'segment: operator in is not offered here; use gt, gte, lt, lte, between at $.op',
    ],
    [
      { attribute: 'birthday', op: 'gt', value: '2000-01-01' },
      'segment: operator gt is not offered here; use is_set, is_not_set at $.op',
    ],
    [{ attribute: 'has_push', op: 'eq', value: 1 }, 'segment: expected true or false at $.value'],
    [
      { attribute: 'first_seen', op: 'gt', value: '2026-02-30' },
      'segment: expected a date, RFC 3339 or YYYY-MM-DD at $.value',
    ],
    [{ trait: 'tier', op: 'like', value: 'x' }, "segment: unknown operator 'like' at $.op"],
    [{ trait: 'tier' }, 'segment: unknown operator nothing at $.op'],
    [{ trait: ' .', op: 'is_set' }, 'segment: the name is empty at $.trait'],
    [{ trait: 'age', op: 'gt', value: '5' }, 'segment: expected a number at $.value'],
    [
      { trait: 'age', op: 'between', value: [1] },
      'segment: between takes a list of two values at $.value',
    ],
    [
      { engagement: 'asleep' },
      "segment: unknown engagement 'asleep'; use a metric or one of new, active, slipping, dormant at $.engagement",
    ],
    [{ event: ' ' }, 'segment: expected the name of an event at $.event'],
    [{ event: 'e', did: 'yes' }, 'segment: did is true or false at $.did'],
    [
      { event: 'e', within_days: 0 },
      'segment: expected a whole number of days from 1 to 3650 at $.within_days',
    ],
    [
      { event: 'e', times: { op: 'in', value: [1] } },
      'segment: operator in is not offered here; use eq, neq, gt, gte, lt, lte, between at $.times.op',
    ],
    [
      { all: [{ event: 'e', where: [{ property: 'p', op: 'in', value: ['a', {}] }] }] },
      'segment: expected a number at $.all[0].where[0].value[1]',
    ],
  ])(
    'is rejected with a sentence that says what is wrong and where: %j',
    (definition, expected) => {
      expect(message(definition)).toBe(expected);
    },
  );

  it('never makes the reader throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (definition) => {
        readAudience(definition);
      }),
    );
  });
});

describe('compileCount', () => {
  it('binds every value of a client and makes none part of the statement', () => {
    const odd = "'; DROP TABLE people --";
    const outcome = readAudience({
      all: [
        { trait: odd, op: 'eq', value: odd },
        { event: odd, where: [{ property: odd, op: 'in', value: [odd, 5] }] },
      ],
    });
    if (!outcome.ok) throw new Error(outcome.message);
    const params = new SqlParams();
    const sql = compileCount(outcome.audience.root, {
      accountId: 7,
      now: 0,
      today: 0,
      merges: 'table',
      params,
    });
    expect(sql).not.toContain('DROP');
    expect(Object.values(params.values())).toContain(odd);
  });
});
