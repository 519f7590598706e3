import { createHmac, timingSafeEqual } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../json.ts';

/** How far ahead a token may expire, ms. */
const MAX_TOKEN_LIFE_MS = 24 * 3_600_000;
/** A token carries an id of at most 256 bytes, escaped and as base64url. */
const MAX_TOKEN_CHARACTERS = 4096;
const HASH = /^[0-9a-f]{64}$/i;
/** A signature of 32 bytes as base64url is 43 characters. */
const TOKEN = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/;

/** The purpose under which an app's inbox secrets are sealed (platform/sealing.ts). */
export function inboxSecretPurpose(app: { accountId: number; appId: number }): string {
  return `inbox_secret:${app.accountId}:${app.appId}`;
}

/** What a request presents besides the write key (ingest 5.2). */
export interface InboxCredential {
  userId: string;
  /** Of the write key. */
  appId: number;
  /** `user_hash` and `user_token` of the body, whatever they are. */
  hash: unknown;
  token: unknown;
}

/**
 * Whether the app's backend says that the person behind a request is this user: by `user_hash`, hex
 * HMAC-SHA256 of the user id, or by `user_token`, a JWT signed with HS256. A request that presents
 * both needs both. Signatures are compared in constant time with each live secret, and nothing of a
 * token is read before its signature is right, so its `alg` chooses nothing.
 *
 * @param secrets the live ones of the app, as text: the key of the HMAC is their UTF-8
 * @param now ms since the epoch
 */
export function isVerifiedUser(
  { userId, appId, hash, token }: InboxCredential,
  { secrets, now }: { secrets: readonly string[]; now: number },
): boolean {
  const isPresent = (sent: unknown) => sent !== undefined && sent !== null;
  if (!isPresent(hash) && !isPresent(token)) return false;
  if (isPresent(hash) && !isHashOf(userId, hash, secrets)) return false;
  return !isPresent(token) || isTokenOf({ userId, appId, now }, token, secrets);
}

function isHashOf(userId: string, hash: unknown, secrets: readonly string[]): boolean {
  if (typeof hash !== 'string' || !HASH.test(hash)) return false;
  return isSignedBy(secrets, userId, Buffer.from(hash, 'hex'));
}

function isTokenOf(
  expected: { userId: string; appId: number; now: number },
  token: unknown,
  secrets: readonly string[],
): boolean {
  if (typeof token !== 'string' || token.length > MAX_TOKEN_CHARACTERS) return false;
  const [, head = '', claims = '', signature = ''] = TOKEN.exec(token) ?? [];
  if (signature === '') return false;
  if (!isSignedBy(secrets, `${head}.${claims}`, Buffer.from(signature, 'base64url'))) return false;
  const header = objectOf(head);
  if (header?.['alg'] !== 'HS256' || header['crit'] !== undefined) return false;
  return areClaimsOf(expected, objectOf(claims) ?? {});
}

function areClaimsOf(
  { userId, appId, now }: { userId: string; appId: number; now: number },
  { sub, aud, exp, nbf }: JsonObject,
): boolean {
  if (sub !== userId || typeof exp !== 'number') return false;
  const life = exp * 1000 - now;
  if (!(life > 0 && life <= MAX_TOKEN_LIFE_MS)) return false;
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf * 1000 <= now)) return false;
  // RFC 7519 4.1.3: one audience or a list; libraries write an id as a number or as a text.
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return audiences.some((one) => one === appId || one === String(appId));
}

/** Compares with every secret: the time does not depend on which one signed. */
function isSignedBy(secrets: readonly string[], text: string, signature: Buffer): boolean {
  let isSigned = false;
  for (const secret of secrets) {
    const own = createHmac('sha256', secret).update(text, 'utf8').digest();
    if (own.length === signature.length && timingSafeEqual(own, signature)) isSigned = true;
  }
  return isSigned;
}

function objectOf(part: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
