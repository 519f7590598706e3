import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { refuse, type Answer } from '../errors.ts';

type ReadBody<Schema extends TSchema> =
  { ok: true; value: Static<Schema> } | Extract<Answer, { ok: false }>;

/**
 * Checks a body against its schema. The refusal names the first field that is wrong and what is
 * expected of it, and quotes no input.
 */
export function readBody<Schema extends TSchema>(schema: Schema, body: unknown): ReadBody<Schema> {
  if (Value.Check(schema, body)) return { ok: true, value: body };
  const [first] = Value.Errors(schema, body);
  const path = first?.instancePath.slice(1).replaceAll('/', '.') ?? '';
  const message = `${path === '' ? 'the body' : path} ${first?.message ?? 'is not valid'}`;
  return refuse('invalid_request', { message }) as Extract<Answer, { ok: false }>;
}
