import { isJsonObject, type JsonObject } from '../events/json.ts';
import { normalisePersian } from '../events/persian.ts';
import { OPERATORS, type Filter, type Test } from './conditions/condition.ts';
import {
  isPersianTarget,
  MAX_KEY_BYTES,
  readKey as readStoredKey,
  readTest,
  type TestProblem,
  type TestRules,
} from './conditions/read-test.ts';
import { ATTRIBUTES, BANDS, isAttribute, isBand, isMetric, METRICS } from './attributes.ts';
import type { Audience, EventCondition, ReadAudience } from './definition.ts';

/** Bounds of management 8.3. */
export const MAX_DEPTH = 8;
export const MAX_CONDITIONS = 200;
export const KINDS = ['all', 'any', 'not', 'trait', 'attribute', 'engagement', 'event'] as const;
/** Maximum `within_days` of an event condition; events are kept for less. */
export const MAX_DAYS = 3650;

export type AudienceOutcome = { ok: true; audience: ReadAudience } | { ok: false; message: string };

/**
 * Reads and checks an audience definition (reports: Audiences; bounds and sentences: management
 * 8.3). Pure, never throws: the message says what is wrong and where. Unknown keys are ignored
 * (management 9.5).
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
    const isPersian = isPersianTarget({ kind: 'trait', name });
    const test = readTestAt(path, value, { operators: OPERATORS, kind: 'any', isPersian });
    return { kind: 'trait', name, test };
  }

  #attribute(value: JsonObject, path: string): Audience {
    const name = value['attribute'];
    if (typeof name !== 'string' || !isAttribute(name))
      return fail(`unknown attribute ${shown(name)}`, `${path}.attribute`);
    const { kind, operators } = ATTRIBUTES[name];
    const isPersian = isPersianTarget({ kind: 'trait', name });
    const test = readTestAt(path, value, { operators, kind, isPersian });
    return { kind: 'attribute', name, test };
  }

  #engagement(value: JsonObject, path: string): Audience {
    const name = value['engagement'];
    if (typeof name === 'string' && isMetric(name)) {
      const { operators } = METRICS[name];
      const test = readTestAt(path, value, { operators, kind: 'number', isPersian: false });
      return { kind: 'metric', name, test };
    }
    if (typeof name !== 'string' || !isBand(name))
      return fail(
        `unknown engagement ${shown(name)}; use a metric or one of ${BANDS.join(', ')}`,
        `${path}.engagement`,
      );
    // without op and value: the person is in the band
    const test = readTestAt(
      path,
      { op: value['op'] ?? 'eq', value: value['value'] ?? true },
      { operators: ['eq', 'neq'], kind: 'boolean', isPersian: false },
    );
    const isTrue = 'value' in test && 'text' in test.value && test.value.text === 'true';
    return { kind: 'band', name, is: isTrue === (test.op === 'eq') };
  }

  #event(value: JsonObject, path: string): EventCondition {
    const name = value['event'];
    const event = typeof name === 'string' ? readEventName(name) : '';
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
      const test = readTestAt(at, one, { operators: OPERATORS, kind: 'any', isPersian: true });
      return { target: { kind: 'property', name }, test };
    });
  }

  #count(): void {
    if (++this.conditions > MAX_CONDITIONS) fail('too many conditions');
  }
}

/**
 * The stored name of an event (ingest 2.3), '' when nothing remains. Cut at 512 bytes, which is
 * longer than any stored name: a name that is too long matches nothing, not its beginning.
 */
export function readEventName(sent: string): string {
  return normalisePersian(sent, 512);
}

function readKey(value: unknown, path: string): string {
  if (typeof value !== 'string') return fail('expected a name', path);
  const read = readStoredKey(value);
  if (read.ok) return read.key;
  return read.problem === 'too_long'
    ? fail(`key is longer than ${MAX_KEY_BYTES} bytes`, path)
    : fail('the name is empty', path);
}

function readTimes(value: unknown, path: string): EventCondition['times'] {
  if (!isJsonObject(value)) return fail('expected {op, value}', path);
  return readTestAt(path, value, {
    operators: TIMES_OPERATORS,
    kind: 'number',
    isPersian: false,
  });
}

/** Operators of `times`: how often an event happened. */
export const TIMES_OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'between'] as const;

function readDays(value: unknown, path: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > MAX_DAYS)
    return fail(`expected a whole number of days from 1 to ${MAX_DAYS}`, path);
  return value;
}

/** Operator and value of the condition at `path`. */
function readTestAt(
  path: string,
  { op, value }: JsonObject,
  rules: Omit<TestRules, 'reject'>,
): Test {
  const reject = (problem: TestProblem): never => {
    const isOperator =
      problem.kind === 'unknown_operator' || problem.kind === 'operator_not_offered';
    const index = 'index' in problem ? `[${problem.index}]` : '';
    if (problem.kind === 'too_many_values') return fail(sentenceOf(problem));
    return fail(sentenceOf(problem), `${path}.${isOperator ? 'op' : 'value'}${index}`);
  };
  return readTest({ op, value }, { ...rules, reject });
}

function sentenceOf(problem: TestProblem): string {
  switch (problem.kind) {
    case 'unknown_operator':
      return `unknown operator ${shown(problem.op)}`;
    case 'operator_not_offered':
      return `operator ${problem.op} is not offered here; use ${problem.offered.join(', ')}`;
    case 'list_expected':
      return `${problem.op} takes a list of values`;
    case 'too_many_values':
      return 'list has too many values';
    case 'text_expected':
      return problem.op === undefined ? 'expected a text' : `${problem.op} takes a text`;
    case 'text_too_long':
      return 'the text is too long';
    case 'boolean_expected':
      return 'expected true or false';
    case 'number_expected':
      return 'expected a number';
    case 'date_expected':
      return 'expected a date, RFC 3339 or YYYY-MM-DD';
    case 'pair_expected':
      return 'between takes a list of two values';
  }
}

/** A value as part of a message, at most 60 characters; of lists and objects only the kind. */
function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (isJsonObject(value)) return 'an object';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `'${text.length > 60 ? `${text.slice(0, 60)}…` : text}'`;
}

/** Thrown inside the reader; readAudience converts it to a value. */
class InvalidAudience extends Error {}

/**
 * Throws `segment: why at $.path`. The messages that the specification quotes have no path.
 */
function fail(why: string, path?: string): never {
  throw new InvalidAudience(path === undefined ? `segment: ${why}` : `segment: ${why} at ${path}`);
}
