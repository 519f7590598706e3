import Type, { type TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { isJsonObject } from '../../events/json.ts';

/** The first place where a body violates its schema. */
export interface Violation {
  /** `steps[0].event`; empty for the body itself. */
  path: string;
  /** The path without its indexes, `steps[].event`: the key of tables of rules and sentences. */
  pattern: string;
  keyword: 'required' | 'type' | 'minItems' | 'maxItems';
  value: unknown;
}

/** A rule that JSON Schema cannot express; it rejects by throwing. */
export type Rule = (value: unknown, path: string) => void;

export interface BodyRules {
  /** Rules that run before the structure below a path is checked, by pattern. */
  before?: Readonly<Record<string, Rule>>;
  /** Rules that run once the structure at a path is valid; also for absent properties. */
  after?: Readonly<Record<string, Rule>>;
  /** Patterns below which the schema is not checked: their own reader has the sentences. */
  stopAt?: readonly string[];
  /** Throws. */
  onViolation: (violation: Violation) => never;
}

/**
 * Checks a body against its schema in the order in which the schema declares properties, and stops
 * at the first error: the client always gets the same sentence for the same body. `null` counts as
 * absent.
 */
export function checkBody(schema: TSchema, body: unknown, rules: BodyRules): void {
  checkValue(schema, { value: body, path: '' }, rules);
}

/** The first violation in a body without rules of its own. */
export function findViolation(
  schema: TSchema,
  body: unknown,
  { stopAt }: Pick<BodyRules, 'stopAt'> = {},
): Violation | undefined {
  try {
    checkBody(schema, body, {
      ...(stopAt ? { stopAt } : {}),
      onViolation(violation) {
        throw new SchemaViolation(violation);
      },
    });
    return undefined;
  } catch (error) {
    if (error instanceof SchemaViolation) return error.violation;
    throw error;
  }
}

class SchemaViolation extends Error {
  readonly violation: Violation;

  constructor(violation: Violation) {
    super(`${violation.keyword} at ${violation.path}`);
    this.violation = violation;
  }
}

interface Located {
  value: unknown;
  path: string;
}

function checkValue(schema: TSchema, { value, path }: Located, rules: BodyRules): void {
  const pattern = path.replaceAll(/\[\d+\]/g, '[]');
  const violated = (keyword: Violation['keyword']): never =>
    rules.onViolation({ path, pattern, keyword, value });
  const isLast = rules.stopAt?.includes(pattern) === true;
  rules.before?.[pattern]?.(value, path);
  if (Type.IsObject(schema)) {
    if (!isJsonObject(value)) return violated('type');
    if (!isLast) checkProperties(schema, { value, path }, rules);
  } else if (isLast) return;
  else if (Type.IsArray(schema)) {
    if (!Array.isArray(value)) return violated('type');
    const { minItems = 0, maxItems = Infinity } = schema as {
      minItems?: number;
      maxItems?: number;
    };
    if (value.length < minItems) return violated('minItems');
    if (value.length > maxItems) return violated('maxItems');
    for (const [index, item] of value.entries())
      checkValue(schema.items, { value: item as unknown, path: `${path}[${index}]` }, rules);
  } else if (!Value.Check(schema, value)) return violated('type');
  rules.after?.[pattern]?.(value, path);
}

function checkProperties(
  schema: Type.TObject,
  { value, path }: { value: Record<string, unknown>; path: string },
  rules: BodyRules,
): void {
  for (const [name, property] of Object.entries(schema.properties)) {
    const at = path === '' ? name : `${path}.${name}`;
    const pattern = at.replaceAll(/\[\d+\]/g, '[]');
    const sent = value[name] ?? undefined;
    if (sent !== undefined) checkValue(property, { value: sent, path: at }, rules);
    else if (!Type.IsOptional(property))
      rules.onViolation({ path: at, pattern, keyword: 'required', value: undefined });
    else rules.after?.[pattern]?.(undefined, at);
  }
}
