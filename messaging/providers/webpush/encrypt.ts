import { createCipheriv, createECDH, hkdfSync, randomBytes, type ECDH } from 'node:crypto';

/** The keys of a browser's subscription. */
export interface SubscriptionKeys {
  /** A point of P-256, not compressed: 65 bytes. */
  p256dh: Buffer;
  /** 16 bytes. */
  auth: Buffer;
}

/** Of one record: the head, the delimiter and the tag are 103 bytes. */
export const MAX_PLAINTEXT_BYTES = 4096 - 103;

const RECORD_BYTES = 4096;
/** Delimiter of the last record (RFC 8188, 2). */
const LAST_RECORD = Buffer.of(2);

/** Keys as browsers write them, in base64url; undefined when they cannot be keys. */
export function subscriptionKeys(keys: {
  p256dh: string;
  auth: string;
}): SubscriptionKeys | undefined {
  const [p256dh, auth] = [Buffer.from(keys.p256dh, 'base64'), Buffer.from(keys.auth, 'base64')];
  return p256dh.length === 65 && p256dh[0] === 4 && auth.length === 16
    ? { p256dh, auth }
    : undefined;
}

/**
 * Encrypts a message for a browser: aes128gcm (RFC 8188) with the keys of RFC 8291. Throws when
 * p256dh is no point of the curve.
 * @param random replaced by tests: the key pair of this message, which has keys, and 16 bytes
 */
export function encryptPush(
  plaintext: Buffer,
  { p256dh, auth }: SubscriptionKeys,
  random: { sender: ECDH; salt: Buffer } = { sender: newSender(), salt: randomBytes(16) },
): Buffer {
  const { sender, salt } = random;
  const senderKey = sender.getPublicKey();
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, senderKey]);
  const input = hkdfSync('sha256', sender.computeSecret(p256dh), auth, info, 32);
  const key = hkdfSync('sha256', new Uint8Array(input), salt, 'Content-Encoding: aes128gcm\0', 16);
  const nonce = hkdfSync('sha256', new Uint8Array(input), salt, 'Content-Encoding: nonce\0', 12);
  const cipher = createCipheriv('aes-128-gcm', new Uint8Array(key), new Uint8Array(nonce));
  const head = Buffer.alloc(21);
  salt.copy(head);
  head.writeUInt32BE(RECORD_BYTES, 16);
  head.writeUInt8(senderKey.length, 20);
  return Buffer.concat([
    ...[head, senderKey, cipher.update(plaintext), cipher.update(LAST_RECORD), cipher.final()],
    cipher.getAuthTag(),
  ]);
}

function newSender(): ECDH {
  const sender = createECDH('prime256v1');
  sender.generateKeys();
  return sender;
}
