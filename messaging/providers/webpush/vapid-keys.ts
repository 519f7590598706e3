import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto';

/** Keys by which push services know a sender (RFC 8292), in base64url. */
export interface VapidKeys {
  /** A point of P-256, not compressed: browsers subscribe with it. */
  publicKey: string;
  /** 32 bytes: the secret of the sender. */
  privateKey: string;
}

export function generateVapidKeys(): VapidKeys {
  const ecdh = createECDH('prime256v1');
  ecdh.generateKeys();
  return {
    publicKey: ecdh.getPublicKey('base64url'),
    // Without leading zeros it may be shorter.
    privateKey: Buffer.concat([Buffer.alloc(32), ecdh.getPrivateKey()])
      .subarray(-32)
      .toString('base64url'),
  };
}

/** The public key of a private one. Throws an Error that never quotes it. */
export function vapidPublicKey(privateKey: string): string {
  const bytes = Buffer.from(privateKey, 'base64url');
  const ecdh = createECDH('prime256v1');
  try {
    if (bytes.length !== 32) throw new Error('not 32 bytes');
    ecdh.setPrivateKey(bytes);
  } catch {
    throw new Error('webpush: the secret has to be a private key of P-256: 32 bytes in base64url');
  }
  return ecdh.getPublicKey('base64url');
}

/** For signatures. Throws like vapidPublicKey. */
export function vapidSigningKey(privateKey: string): KeyObject {
  const point = Buffer.from(vapidPublicKey(privateKey), 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)];
  const key = { kty: 'EC', crv: 'P-256', d: privateKey };
  return createPrivateKey({
    key: { ...key, x: x.toString('base64url'), y: y.toString('base64url') },
    format: 'jwk',
  });
}
