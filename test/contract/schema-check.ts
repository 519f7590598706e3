type Schema = Record<string, unknown>;

/**
 * Where a value does not fit a schema of a document in docs/openapi, as paths with what was
 * expected; empty when it fits. The keywords that the document uses, and no others.
 */
export function misfits(document: Schema, schema: Schema, value: unknown, path = '$'): string[] {
  const inside = (one: unknown, at: unknown, where: string) =>
    misfits(document, one as Schema, at, where);
  const {
    $ref,
    type,
    enum: choices,
    const: only,
    oneOf,
    anyOf,
    items,
    properties,
    required,
  } = schema;
  if (typeof $ref === 'string') return inside(resolve(document, $ref), value, path);
  const found: string[] = [];
  const types = type === undefined ? [] : [type].flat();
  if (types.length > 0 && !types.some((one) => isOf(one as string, value)))
    found.push(`${path}: expected ${JSON.stringify(type)}`);
  if (Array.isArray(choices) && !choices.includes(value))
    found.push(`${path}: not one of ${JSON.stringify(choices)}`);
  if ('const' in schema && value !== only) found.push(`${path}: expected ${JSON.stringify(only)}`);
  for (const branches of [oneOf, anyOf])
    if (
      Array.isArray(branches) &&
      !branches.some((branch) => inside(branch, value, path).length === 0)
    )
      found.push(`${path}: fits no branch`);
  if (Array.isArray(value) && items !== undefined)
    found.push(...value.flatMap((item, at) => inside(items, item, `${path}[${at}]`)));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const fields = value as Record<string, unknown>;
    for (const name of (required ?? []) as string[])
      if (!Object.hasOwn(fields, name)) found.push(`${path}.${name}: missing`);
    for (const [name, one] of Object.entries((properties ?? {}) as Record<string, unknown>))
      if (Object.hasOwn(fields, name)) found.push(...inside(one, fields[name], `${path}.${name}`));
  }
  return found;
}

/** Keys of an object that its schema does not name. */
export function unnamed(document: Schema, schema: Schema, value: unknown): string[] {
  const target = typeof schema['$ref'] === 'string' ? resolve(document, schema['$ref']) : schema;
  return Object.keys(value as object).filter(
    (name) => !Object.hasOwn((target['properties'] ?? {}) as Schema, name),
  );
}

function resolve(document: Schema, ref: string): Schema {
  return ref
    .replace('#/', '')
    .split('/')
    .reduce((node: Schema, key) => node[key] as Schema, document);
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object')
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  return type === 'integer' ? Number.isInteger(value) : typeof value === type;
}
