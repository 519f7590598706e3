import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normaliseProperties } from '../events/properties.ts';
import { normaliseTraits } from '../events/traits.ts';
import { pruneBody } from './prune-body.ts';

const RECORD = { valueBytes: 8192, totalBytes: Infinity };
const prune = (text: string | Buffer, shape: 'single' | 'batch' = 'single', more = RECORD) =>
  pruneBody({ body: Buffer.from(text), shape, ...more });
const read = (text: string, more = RECORD) =>
  JSON.parse(prune(text, 'single', more)?.body.toString() ?? 'null') as Record<string, never>;

function parses(text: string): boolean {
  try {
    JSON.parse(Buffer.from(text).toString());
    return true;
  } catch {
    return false;
  }
}

describe('the pruning of a body', () => {
  it('accepts exactly what JSON.parse accepts', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ...['{', '}', '[', ']', ':', ',', '"', '\\', ' ', '\n', '\u0001', '-', '.', '0', '1'],
        '}',
        '[',
        ']',
        ':',
        ',',
        '"',
        '\\',
        ' ',
        '\n',
        '\u0001',
        '-',
        '+',
        '.',
        'e',
        '0',
        '1',
        '9',
      ),
      fc.constantFrom('true', 'false', 'null', '\\u00e9', '\\x', '1e999', '""', '"a":', '\u00a0'),
      fc.json(),
    );
    const text = fc.oneof(
      fc.json(),
      fc.array(piece, { maxLength: 12 }).map((parts) => parts.join('')),
      fc.tuple(fc.json(), fc.nat(), piece).map(([json, at, part]) => {
        const cut = at % (json.length + 1);
        return json.slice(0, cut) + part + json.slice(cut + (at % 2));
      }),
    );
    fc.assert(
      fc.property(text, fc.constantFrom('single' as const, 'batch' as const), (sent, shape) => {
        expect(prune(sent, shape) !== undefined).toBe(parses(sent));
      }),
      { numRuns: 3000 },
    );
  });

  it('keeps a body whose nested values are short', () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 6 }),
        fc.constantFrom('single' as const, 'batch' as const),
        (json, shape) => {
          const pruned = prune(json, shape);
          expect(JSON.parse(pruned?.body.toString() ?? '')).toEqual(JSON.parse(json));
        },
      ),
      { numRuns: 500 },
    );
  });

  const nested = fc.oneof(
    fc.jsonValue({ maxDepth: 5 }),
    fc.nat(20_000).map((count) => Array.from({ length: count }, (_, at) => at)),
    fc.nat(9000).map((depth) => depth),
    fc.nat(3000).map((count) => Array.from({ length: count }, (_, n) => ({ a: `سلام ${n}` }))),
    fc
      .nat(2000)
      .map((count) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, [n]]))),
  );

  it('leaves the stored row as it is, whatever a property or trait holds', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'phone', 'email', 'b c', '__proto__'), nested),
        (values) => {
          const stringified = JSON.stringify({ properties: values, traits: values });
          const sent = JSON.parse(stringified) as Record<string, never>;
          const kept = read(stringified);
          expect(normaliseProperties(kept['properties'])).toEqual(
            normaliseProperties(sent['properties']),
          );
          expect(normaliseTraits(kept['traits'])).toEqual(normaliseTraits(sent['traits']));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('stores the beginning of a value that nests two million levels deep', () => {
    const deep = '['.repeat(2_000_000) + ']'.repeat(2_000_000);
    const { properties } = read(`{"properties":{"a":${deep},"b":1}}`);
    expect(normaliseProperties(properties).text).toEqual({ a: '['.repeat(8192), b: '1' });
  });

  it.each([
    ['array', `[${'0,'.repeat(9000)}1e400]`],
    ['object', `{"x":[${'0,'.repeat(9000)}1],"y":{"z":-1e400}}`],
    ['long number', `[${'0,'.repeat(9000)}${'9'.repeat(400)}]`],
    ['nested array', `[${'0,'.repeat(9000)}[[[1e400]]],0]`],
  ])('keeps that an %s holds a number that JSON cannot encode', (_, value) => {
    for (const limits of [RECORD, { valueBytes: 0, totalBytes: 0 }])
      expect(
        normaliseProperties(read(`{"properties":{"a":${value}}}`, limits)['properties']).text,
      ).toEqual({});
  });

  it('counts the items of a batch, and keeps 501 of them', () => {
    for (const item of ['{}', '0', '"a"', '[[]]', 'null', '{"a":{"b":[1,{}]}}']) {
      const pruned = prune(`{"batch":[${`${item},`.repeat(2000)}${item}],"sent_at":1}`, 'batch');
      expect(pruned?.items).toBe(2001);
      const kept = JSON.parse(pruned?.body.toString() ?? '') as { batch: unknown[] };
      expect(kept.batch).toEqual(Array.from({ length: 501 }, () => JSON.parse(item) as unknown));
      expect(kept).toMatchObject({ sent_at: 1 });
    }
  });

  it('counts the last batch of a body with several', () => {
    expect(prune('{"batch":[1,2,3],"b\\u0061tch":[1]}', 'batch')?.items).toBe(1);
    expect(prune('{"batch":[1,2,3],"batch":0}', 'batch')?.items).toBe(undefined);
    expect(prune('{"batch":[],"context":{"batch":[1,2]}}', 'batch')?.items).toBe(0);
  });

  it('keeps less than its bound of values that hold many small ones', () => {
    const value = `[${'{},'.repeat(300)}{}]`;
    const members = Array.from({ length: 2000 }, (_, at) => `"k${at}":${value}`);
    const limits = { valueBytes: 1024, totalBytes: 64 * 1024 };
    const pruned = prune(`{"properties":{${members.join(',')}}}`, 'single', limits);
    expect(pruned?.body.length).toBeLessThan(64 * 1024 + 2000 * 14);
  });
});
