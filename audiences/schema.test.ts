import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { expect, it } from 'vitest';
import { ATTRIBUTES, BANDS, METRICS } from './attributes.ts';
import { OPERATORS } from './conditions/condition.ts';
import { KINDS, readAudience } from './read.ts';
import { audienceSchema } from './schema.ts';
import { definition } from './testing/definitions.ts';

const schema = Compile(audienceSchema);

/** On this host a property that is null counts as absent (management 9.5). */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inside]) =>
      inside === null ? [] : [[key, withoutNulls(inside)]],
    ),
  );
}

function expectAgreement(sent: unknown): void {
  const outcome = readAudience(sent);
  expect(schema.Check(withoutNulls(sent)), JSON.stringify({ sent, outcome })).toBe(outcome.ok);
}

const KEYS = [...KINDS, 'op', 'value', 'did', 'times', 'within_days', 'where', 'property'];
/** A value that is right in one place of a definition and wrong in another. */
const value = fc.oneof(
  fc.constantFrom<unknown>(
    ...['', ' ', 'x', 'true', '2026-09-20', '2026-02-30', 'é'.repeat(64), 'é'.repeat(65)],
    ...[null, true, false, 0, -1, 1.5, 7, 3650, 3651],
    ...[[], {}, [1, 2], ['a', 'b'], ['2026-09-20', 'soon'], [1, null], [true, 'x', 3]],
    ...[{ op: 'gte', value: 2 }, { property: 'p', op: 'is_set' }, { engagement: 'new' }],
  ),
  fc.constantFrom<string>(...OPERATORS, ...BANDS, ...Object.keys(METRICS)),
  fc.constantFrom(...Object.keys(ATTRIBUTES)),
  fc.jsonValue({ maxDepth: 2 }),
);

type Container = Record<string, unknown> | unknown[];

/** Every object and list of a definition. */
function containersOf(value: unknown): Container[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Container, ...Object.values(value).flatMap(containersOf)];
}

/** A valid definition with up to three properties or elements set, replaced or deleted. */
const nearlyValid = fc
  .tuple(
    definition,
    fc.array(
      fc.record({ at: fc.nat(), key: fc.constantFrom(...KEYS), isDeleted: fc.boolean(), value }),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([valid, changes]) => {
    const changed: unknown = JSON.parse(JSON.stringify(valid));
    for (const { at, key, isDeleted, ...change } of changes) {
      // the constants must not become part of themselves
      const value = structuredClone(change.value);
      const containers = containersOf(changed);
      const container = containers[at % containers.length];
      if (Array.isArray(container)) container.splice(at % (container.length + 1), 1, value);
      else if (container && isDeleted) Reflect.deleteProperty(container, key);
      else if (container) container[key] = value;
    }
    return changed;
  });

it('the published schema and the reader accept every valid definition', () => {
  fc.assert(
    fc.property(definition, (valid) => {
      const sent: unknown = JSON.parse(JSON.stringify(valid));
      expect(readAudience(sent)).toMatchObject({ ok: true });
      expectAgreement(sent);
    }),
    { numRuns: 500 },
  );
});

it('the published schema and the reader accept and reject the same changed definitions', () => {
  fc.assert(fc.property(nearlyValid, expectAgreement), { numRuns: 3000 });
});

it('the published schema and the reader accept and reject the same JSON values', () => {
  fc.assert(fc.property(fc.jsonValue(), expectAgreement));
});
