import { isJsonObject, type JsonObject } from '../events/json.ts';
import { KINDS } from './read.ts';

/** Keys of a condition, by its kind; `times` and `where` have keys of their own. */
const TEST_KEYS = ['op', 'value'];
const EVENT_KEYS = ['did', 'times', 'within_days', 'where'];
const WITHOUT_VALUE: readonly unknown[] = ['is_set', 'is_not_set'];

/**
 * A valid audience definition as it is stored: as sent, without the keys that readAudience ignores.
 * It means the same audience, and its size is bounded by what the reader accepts.
 */
export function canonicalDefinition(definition: unknown): unknown {
  if (!isJsonObject(definition)) return definition;
  const kind = KINDS.find((one) => (definition[one] ?? undefined) !== undefined);
  if (kind === undefined) return {};
  const inside = definition[kind];
  if (kind === 'not') return { not: canonicalDefinition(inside) };
  if (kind === 'all' || kind === 'any')
    return { [kind]: Array.isArray(inside) ? inside.map(canonicalDefinition) : inside };
  if (kind !== 'event') return canonicalTest(definition, kind);
  return Object.fromEntries(
    Object.entries(pick(definition, [kind, ...EVENT_KEYS])).map(([key, value]) => {
      if (key === 'times') return [key, canonicalTest(value)];
      return [key, key === 'where' ? canonicalList(value) : value];
    }),
  );
}

function canonicalList(where: unknown): unknown {
  return Array.isArray(where) ? where.map((one) => canonicalTest(one, 'property')) : where;
}

/** `name`: the key that says what is compared; `times` of an event has none. */
function canonicalTest(test: unknown, name?: string): unknown {
  if (!isJsonObject(test)) return test;
  const keys = WITHOUT_VALUE.includes(test['op']) ? ['op'] : TEST_KEYS;
  return pick(test, name === undefined ? keys : [name, ...keys]);
}

/** The non-null properties with these keys, in the order in which they were sent. */
function pick(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([key, value]) => keys.includes(key) && value !== null),
  );
}
