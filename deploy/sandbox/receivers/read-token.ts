import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { isJsonObject, parseJson, type JsonObject } from '../../../events/json.ts';

export interface ReadToken {
  header: JsonObject;
  claims: JsonObject;
  /** Whether it was signed with the private key of this one: ES256, or RS256 for a key of RSA. */
  isSignedBy: (key: KeyObject) => boolean;
}

/** A JSON Web Token; undefined when the text is none. */
export function readToken(text: string): ReadToken | undefined {
  const [head = '', body = '', signature = '', ...rest] = text.split('.');
  const [header, claims] = [head, body].map((part) => parseJson(Buffer.from(part, 'base64url')));
  if (rest.length > 0 || !isJsonObject(header) || !isJsonObject(claims)) return undefined;
  const bytes = Buffer.from(signature, 'base64url');
  return {
    header,
    claims,
    isSignedBy: (key) =>
      verify('sha256', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' }, bytes),
  };
}

/** The key of a point of P-256 that is not compressed, in base64url; undefined when it is none. */
export function keyOfPoint(text: string): KeyObject | undefined {
  const point = Buffer.from(text, 'base64url');
  const [x, y] = [point.toString('base64url', 1, 33), point.toString('base64url', 33)];
  if (point.length !== 65 || point[0] !== 4) return undefined;
  try {
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
  } catch {
    // No point of the curve.
    return undefined;
  }
}
