import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject } from '../events/json.ts';
import { readAudience } from './read.ts';
import { definition } from './testing/definitions.ts';
import { canonicalDefinition } from './canonical.ts';

/** The same definition with keys that readAudience ignores in every object. */
function withNoise(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNoise);
  if (!isJsonObject(value)) return value;
  const noise = { comment: ['x'], ['__proto__x']: { deep: [1] } };
  const inner = Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withNoise(one)]),
  );
  const ignored = value['op'] === 'is_set' ? { value: { any: 'thing' } } : {};
  return { ...noise, ...inner, ...ignored };
}

describe('the stored form of a definition', () => {
  it('means the same audience, however many ignored keys were sent', () => {
    fc.assert(
      fc.property(definition, (generated) => {
        const sent: unknown = JSON.parse(JSON.stringify(generated));
        const stored = canonicalDefinition(withNoise(sent));
        expect(readAudience(stored)).toEqual(readAudience(sent));
        const canonical = canonicalDefinition(sent);
        expect(stored).toEqual(canonical);
        expect(canonicalDefinition(stored)).toEqual(canonical);
      }),
    );
  });

  it('is a definition without ignored keys as it was sent, in the order of its keys', () => {
    const sent = {
      all: [
        { value: 'تهران', op: 'eq', attribute: 'city' },
        {
          event: 'a',
          times: { op: 'gte', value: 2 },
          where: [{ property: 'p', op: 'in', value: ['x', 1] }],
          within_days: 7,
          did: false,
        },
        { not: { engagement: 'loyal' } },
      ],
    };
    expect(JSON.stringify(canonicalDefinition(sent))).toBe(JSON.stringify(sent));
  });

  it('has no key that is ignored at any level', () => {
    const deep = Array.from({ length: 10_000 }).reduce<unknown>((inside) => [inside], 1);
    const sent = { any: [{ trait: 't', op: 'is_set', value: deep, x: deep }], y: deep, all: null };
    expect(canonicalDefinition(sent)).toEqual({ any: [{ trait: 't', op: 'is_set' }] });
  });
});
