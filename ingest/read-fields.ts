import { isJsonObject, parseJson, type JsonObject } from '../events/json.ts';
import { pruneBody } from './prune-body.ts';

/** A JSON body of which a few members are wanted: plain values, which a thread can get. */
export interface FieldsToRead {
  body: Buffer;
  names: readonly string[];
}

/** Bytes of nested values that are read; of longer ones the members after that are left out. */
const NESTED = { valueBytes: 64 * 1024, totalBytes: 256 * 1024 };

/** The named members of a JSON object; undefined for a body that is not one. */
export function readFields({ body, names }: FieldsToRead): JsonObject | undefined {
  const parsed = parseJson(body);
  if (!isJsonObject(parsed)) return undefined;
  const found = names.flatMap((name) =>
    Object.hasOwn(parsed, name) ? [[name, parsed[name]] as const] : [],
  );
  return Object.fromEntries(found);
}

/** The same of a body that may be expensive to parse, in time that is linear in its size. */
export function readLargeFields({ body, names }: FieldsToRead): JsonObject | undefined {
  const pruned = pruneBody({ body, shape: 'single', ...NESTED });
  return pruned && readFields({ body: pruned.body, names });
}
