import { createHash, randomBytes } from 'node:crypto';

export const WRITE_KEY_PREFIX = 'wk_svc_';
export const MANAGEMENT_KEY_PREFIX = 'sk_svc_';

/** A new key, which is shown once, and its stored hash. */
export interface NewKey {
  key: string;
  hash: Buffer;
}

/** Prefix and 43 base64url characters of 32 random bytes (ingest 5.1, management 5). */
export function makeKey(prefix: string, random: Buffer = randomBytes(32)): NewKey {
  const key = `${prefix}${random.toString('base64url')}`;
  return { key, hash: hashKey(key) };
}

/** SHA-256 of the whole key: the only form in which a key is stored. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
