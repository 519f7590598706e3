import { fitsBytes, wellFormed } from '../bytes.ts';
import { MAX_ID_BYTES } from '../event-name.ts';
import type { JsonObject } from '../json.ts';
import { MalformedEnvelope } from '../validate-event.ts';

/** Why a request is refused: the text that its client reads (ingest 7.4). */
export class RefusedChange extends Error {
  override readonly name = 'RefusedChange';
}

/** A text; empty when absent or null. Throws MalformedEnvelope for another JSON type. */
export function optionalText(body: JsonObject, field: string): string {
  const value = body[field];
  if (typeof value === 'string') return wellFormed(value);
  if (value === undefined || value === null) return '';
  throw new MalformedEnvelope(`${field} is not a string`);
}

/** An id of at most 256 bytes; empty when absent. Throws RefusedChange and MalformedEnvelope. */
export function optionalId(body: JsonObject, field: string): string {
  return withinBytes(optionalText(body, field), { field, bytes: MAX_ID_BYTES });
}

/** Throws RefusedChange for a text that is too long: it would name something else when cut. */
export function withinBytes(
  text: string,
  { field, bytes }: { field: string; bytes: number },
): string {
  if (!fitsBytes(text, bytes))
    throw new RefusedChange(`${field} is too long: at most ${bytes} bytes`);
  return text;
}
