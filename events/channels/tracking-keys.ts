import { TrackingTokens, type TrackingKey } from './tracking-token.ts';

const KEY_BYTES = 32;
const MAX_ID = 255;

/** The form of TRACKING_KEYS, for the message of an invalid setting. */
export const TRACKING_KEYS_FORM =
  'id:KEY, or several separated by commas, newest first, each KEY base64 of 32 random bytes (openssl rand -base64 32), each id a number from 0 to 255 and given once';

/**
 * Parses TRACKING_KEYS; undefined when it is empty, and no token can be written or read. Throws an
 * Error whose message is the expected form, without the text.
 */
export function parseTrackingKeys(text: string): TrackingTokens | undefined {
  const [newest, ...older] = parseKeys(text);
  return newest && new TrackingTokens([newest, ...older]);
}

/**
 * TRACKING_KEYS with a new key in front: it signs, the others still verify. Throws an Error for an
 * invalid text, and when all ids are in use.
 * @param bytes 32 random bytes
 */
export function withNewestKey(text: string, bytes: Buffer): string {
  const keys = parseKeys(text);
  const used = new Set(keys.map(({ id }) => id));
  let id = keys[0] ? (keys[0].id + 1) % (MAX_ID + 1) : 1;
  if (used.size > MAX_ID) throw new Error('every id is in use: remove keys older than 400 days');
  while (used.has(id)) id = (id + 1) % (MAX_ID + 1);
  return [{ id, bytes }, ...keys].map(formatTrackingKey).join(',');
}

function parseKeys(text: string): TrackingKey[] {
  if (text.trim() === '') return [];
  const keys = text.split(',').map((part) => parseKey(part.trim()));
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Error(TRACKING_KEYS_FORM);
  return keys;
}

function parseKey(part: string): TrackingKey {
  const [, digits = '', encoded = ''] = /^(\d{1,3}):([A-Za-z0-9+/_-]+={0,2})$/.exec(part) ?? [];
  const id = Number(digits);
  const bytes = Buffer.from(encoded, 'base64');
  if (digits === '' || id > MAX_ID || bytes.length !== KEY_BYTES)
    throw new Error(TRACKING_KEYS_FORM);
  return { id, bytes };
}

/** One key as TRACKING_KEYS holds it. */
export function formatTrackingKey({ id, bytes }: TrackingKey): string {
  return `${id}:${bytes.toString('base64')}`;
}
