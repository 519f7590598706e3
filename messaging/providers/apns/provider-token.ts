import { createPrivateKey } from 'node:crypto';
import { signedToken } from '../jwt.ts';
import { signDeterministically } from './deterministic-ecdsa.ts';

/** Apple takes a token for an hour, and refuses a key whose tokens change within 20 minutes. */
const PERIOD_MS = 1_800_000;
/** How much the clock of a host may be ahead of Apple's, ms. */
const AHEAD_MS = 300_000;

/** The private key of a .p8 file, 32 bytes. Throws an Error that never quotes it. */
export function parseSigningKey(pem: string): Buffer {
  try {
    const { crv, d } = createPrivateKey(pem).export({ format: 'jwk' });
    if (crv === 'P-256' && d !== undefined) return Buffer.from(d, 'base64url');
  } catch {
    // The error may quote the key.
  }
  throw new Error('apns: the secret has to be a .p8 file: a private key of P-256 in PEM');
}

/** When the token that is used at `now` was issued: 5 to 35 minutes before. ms since the epoch. */
export function tokenIssuedAt(now: number): number {
  return Math.floor((now - AHEAD_MS) / PERIOD_MS) * PERIOD_MS;
}

/**
 * A provider token (ES256). All processes that have the key make the same one at the same time:
 * otherwise Apple would see a token change with each of them.
 */
export function providerToken(token: {
  teamId: string;
  keyId: string;
  privateKey: Buffer;
  /** tokenIssuedAt, ms since the epoch. */
  issuedAt: number;
}): string {
  return signedToken({
    header: { alg: 'ES256', kid: token.keyId },
    claims: { iss: token.teamId, iat: token.issuedAt / 1000 },
    sign: (bytes) => signDeterministically(bytes, token.privateKey),
  });
}
