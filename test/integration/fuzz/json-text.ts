import type { SeededRandom } from './seeded-random.ts';

/**
 * Texts of JSON values that parsers and servers stumble over; many of them no parser of objects
 * could write.
 */
const ODD_VALUES: readonly string[] = [
  ...[
    'null',
    'true',
    '-0',
    '0',
    '1e999',
    '-1e999',
    '1e308',
    '5e-324',
    '9007199254740993',
    '123456789012345678901234567890',
    '1E+2',
    '-1.5',
  ],
  ...[
    '""',
    '" "',
    '"\\u0000"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\ud83d\\ude00"',
    '"\\uFEFF\\u200d\\u200c"',
    '"\\u064a\\u0643\\u0629"',
  ],
  ...[
    '[]',
    '{}',
    '[[]]',
    '{"":{"":""}}',
    '[null,1e999,{"a":[true]}]',
    '{"__proto__":{"polluted":true}}',
    '{"constructor":1,"toString":null}',
  ],
  ...[
    '"2026-11-21T10:00:00Z"',
    '"0000-01-01T00:00:00Z"',
    '"9999-12-31T23:59:59.999999999+14:00"',
    '"2026-13-40T99:99:99Z"',
    '1790000000',
  ],
  ...[
    '"+98 912 345 67 89"',
    '"۰۹۱۲۳۴۵۶۷۸۹"',
    '"0499370899"',
    '"<script>"',
    '"\\\\"',
    '"\\n\\r\\t"',
    '"\';DROP TABLE events;--"',
  ],
];
/** No JSON at all, where a value should stand. */
const NO_VALUES: readonly string[] = [
  'NaN',
  '-',
  '01',
  '.5',
  '1.',
  '+1',
  "'a'",
  '"\\x"',
  '"\\u12"',
  '"\n"',
  'undefined',
  '',
  '/**/1',
  '"open',
];

export function oddValue(random: SeededRandom): string {
  const kind = random.below(100);
  if (kind < 70) return random.pick(ODD_VALUES);
  if (kind < 78) return JSON.stringify('x'.repeat(random.below(9000)));
  if (kind < 84) return JSON.stringify('ی\u064b'.repeat(random.below(5000)));
  if (kind < 90) return nested(random, random.pick([3, 30, 300, 3000]));
  if (kind < 97) return objectOf(random, random.below(random.chance(0.1) ? 400 : 6));
  return random.pick(NO_VALUES);
}

function nested(random: SeededRandom, depth: number): string {
  if (random.chance(0.5))
    return '['.repeat(depth) + ']'.repeat(depth - (random.chance(0.1) ? 1 : 0));
  return '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
}

const ODD_KEYS: readonly string[] = [
  '"a.b-c  d"',
  '""',
  '"  "',
  '"__proto__"',
  '"\\u0000\\u0007"',
  '"\\ud800"',
  '"revenue"',
  '"price"',
  '"quantity"',
  '"currency"',
  '"phone"',
];

export function objectOf(random: SeededRandom, size: number): string {
  const key = (index: number) =>
    random.chance(0.3)
      ? random.pick(ODD_KEYS)
      : random.chance(0.05)
        ? JSON.stringify('k'.repeat(random.below(400)))
        : `"k${index}"`;
  return `{${Array.from({ length: size }, (_, index) => `${key(index)}:${random.pick(ODD_VALUES)}`).join(',')}}`;
}
