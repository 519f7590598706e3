import { fitsBytes } from '../../events/bytes.ts';
import { isJsonObject, type JsonObject } from '../../events/json.ts';
import { normaliseKey } from '../../events/keys.ts';
import { normalisePersian } from '../../events/persian.ts';
import { isProfileColumn } from '../../events/traits.ts';
import type { Filter } from '../conditions/condition.ts';
import {
  ATTRIBUTES,
  BANDS,
  isAttribute,
  isBand,
  isMetric,
  METRICS,
  OPERATORS,
} from './attributes.ts';
import type { Audience, EventCondition, ReadAudience } from './definition.ts';
import { fail, InvalidAudience, MAX_CONDITIONS, MAX_DEPTH, MAX_KEY_BYTES } from './problem.ts';
import { readTest, shown } from '../conditions/read-test.ts';

const KINDS = ['all', 'any', 'not', 'trait', 'attribute', 'engagement', 'event'] as const;
/** Profile columns whose texts are stored Persian-normalised (ingest 2.3). */
const PERSIAN_COLUMNS: ReadonlySet<string> = new Set(['city', 'region', 'country']);
/** Longest span that an event condition looks back; events are kept for less. */
const MAX_DAYS = 3650;

export type AudienceOutcome = { ok: true; audience: ReadAudience } | { ok: false; message: string };

/**
 * Reads and checks an audience definition (reports.md, "Audiences"; bounds and sentences:
 * management 8.3). Pure, touches no database, never throws: what cannot compile says what is wrong
 * and where. Unknown keys are ignored, as everywhere on this host (management 9.5).
 */
export function readAudience(definition: unknown): AudienceOutcome {
  const reader = new AudienceReader();
  try {
    const root = reader.node(definition, { path: '$', depth: 0 });
    return { ok: true, audience: { root, conditions: reader.conditions, depth: reader.depth } };
  } catch (error) {
    if (error instanceof InvalidAudience) return { ok: false, message: error.message };
    throw error;
  }
}

interface Position {
  path: string;
  /** Groups around this node. */
  depth: number;
}

class AudienceReader {
  conditions = 0;
  depth = 0;

  node(value: unknown, { path, depth }: Position): Audience {
    if (!isJsonObject(value)) return fail('expected an object', path);
    const kinds = KINDS.filter((kind) => value[kind] !== undefined && value[kind] !== null);
    const kind = kinds[0];
    if (kind === undefined || kinds.length > 1)
      return fail(`expected exactly one of ${KINDS.join(', ')}`, path);
    if (kind === 'all' || kind === 'any' || kind === 'not')
      return this.#group(value, { kind, path, depth: depth + 1 });
    this.#count();
    if (kind === 'trait') return this.#trait(value, path);
    if (kind === 'attribute') return this.#attribute(value, path);
    return kind === 'engagement' ? this.#engagement(value, path) : this.#event(value, path);
  }

  #group(
    value: JsonObject,
    { kind, path, depth }: Position & { kind: 'all' | 'any' | 'not' },
  ): Audience {
    if (depth > MAX_DEPTH) return fail('nesting too deep');
    this.depth = Math.max(this.depth, depth);
    const inside = value[kind];
    if (kind === 'not') return { kind, of: this.node(inside, { path: `${path}.not`, depth }) };
    if (!Array.isArray(inside) || inside.length === 0)
      return fail(`${kind} takes a list of at least one condition`, `${path}.${kind}`);
    return {
      kind,
      of: inside.map((one: unknown, index) =>
        this.node(one, { path: `${path}.${kind}[${index}]`, depth }),
      ),
    };
  }

  #trait(value: JsonObject, path: string): Audience {
    const name = readKey(value['trait'], `${path}.trait`);
    const isPersian = !isProfileColumn(name) || PERSIAN_COLUMNS.has(name);
    return {
      kind: 'trait',
      name,
      test: readTest(
        { op: value['op'], value: value['value'] },
        { path, operators: OPERATORS, kind: 'any', isPersian },
      ),
    };
  }

  #attribute(value: JsonObject, path: string): Audience {
    const name = value['attribute'];
    if (typeof name !== 'string' || !isAttribute(name))
      return fail(`unknown attribute ${shown(name)}`, `${path}.attribute`);
    const { kind, operators } = ATTRIBUTES[name];
    const test = readTest(
      { op: value['op'], value: value['value'] },
      { path, operators, kind, isPersian: PERSIAN_COLUMNS.has(name) },
    );
    return { kind: 'attribute', name, test };
  }

  #engagement(value: JsonObject, path: string): Audience {
    const name = value['engagement'];
    if (typeof name === 'string' && isMetric(name)) {
      const test = readTest(
        { op: value['op'], value: value['value'] },
        { path, operators: METRICS[name].operators, kind: 'number', isPersian: false },
      );
      return { kind: 'metric', name, test };
    }
    if (typeof name !== 'string' || !isBand(name))
      return fail(
        `unknown engagement ${shown(name)}; use a metric or one of ${BANDS.join(', ')}`,
        `${path}.engagement`,
      );
    // A band alone means: is in it.
    const test = readTest(
      { op: value['op'] ?? 'eq', value: value['value'] ?? true },
      { path, operators: ['eq', 'neq'], kind: 'boolean', isPersian: false },
    );
    const isTrue = 'value' in test && 'text' in test.value && test.value.text === 'true';
    return { kind: 'band', name, is: isTrue === (test.op === 'eq') };
  }

  #event(value: JsonObject, path: string): EventCondition {
    const name = value['event'];
    const event = typeof name === 'string' ? normalisePersian(name, MAX_NAME_BYTES) : '';
    if (event === '') return fail('expected the name of an event', `${path}.event`);
    const did = value['did'] ?? true;
    if (typeof did !== 'boolean') return fail('did is true or false', `${path}.did`);
    return {
      kind: 'event',
      event,
      did,
      times: readTimes(value['times'] ?? { op: 'gte', value: 1 }, `${path}.times`),
      withinDays: readDays(value['within_days'], `${path}.within_days`),
      where: this.#where(value['where'] ?? [], `${path}.where`),
    };
  }

  #where(value: unknown, path: string): Filter[] {
    if (!Array.isArray(value)) return fail('expected a list of property conditions', path);
    return value.map((one: unknown, index) => {
      this.#count();
      const at = `${path}[${index}]`;
      if (!isJsonObject(one)) return fail('expected an object', at);
      const name = readKey(one['property'], `${at}.property`);
      const test = readTest(
        { op: one['op'], value: one['value'] },
        { path: at, operators: OPERATORS, kind: 'any', isPersian: true },
      );
      return { target: { kind: 'property', name }, test };
    });
  }

  #count(): void {
    if (++this.conditions > MAX_CONDITIONS) fail('too many conditions');
  }
}

/**
 * Room for a name longer than any that is stored: it then matches nothing instead of matching its
 * beginning.
 */
const MAX_NAME_BYTES = 512;

function readKey(value: unknown, path: string): string {
  if (typeof value !== 'string') return fail('expected a name', path);
  if (!fitsBytes(value, MAX_KEY_BYTES))
    return fail(`key is longer than ${MAX_KEY_BYTES} bytes`, path);
  const key = normaliseKey(value);
  return key === '' ? fail('the name is empty', path) : key;
}

function readTimes(value: unknown, path: string): EventCondition['times'] {
  if (!isJsonObject(value)) return fail('expected {op, value}', path);
  return readTest(
    { op: value['op'], value: value['value'] },
    {
      path,
      operators: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'between'],
      kind: 'number',
      isPersian: false,
    },
  );
}

function readDays(value: unknown, path: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > MAX_DAYS)
    return fail(`expected a whole number of days from 1 to ${MAX_DAYS}`, path);
  return value;
}
