import { isJsonObject, type JsonObject } from '../../json.ts';
import { RefusedChange } from '../fields.ts';

/** One of the names. Throws RefusedChange, which lists them. */
export function oneOf<const T extends string>(sent: unknown, names: readonly T[], at: string): T {
  const found = names.find((name) => name === sent);
  if (found === undefined) throw new RefusedChange(`${at} is not one of ${names.join(', ')}`);
  return found;
}

/** Throws RefusedChange for what is not a JSON object. */
export function objectAt(sent: unknown, at: string): JsonObject {
  if (!isJsonObject(sent)) throw new RefusedChange(`${at} is not an object`);
  return sent;
}

/** A name in a message, at most 60 characters of it. */
export function quoted(name: string): string {
  return `'${name.length > 60 ? `${name.slice(0, 60).toWellFormed()}…` : name}'`;
}
