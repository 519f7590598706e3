import { createDecipheriv, createECDH, hkdfSync, type ECDH } from 'node:crypto';

/** The keys of a browser: those of its subscription, with their private half. */
export interface BrowserKeys {
  ecdh: ECDH;
  /** 16 bytes. */
  auth: Buffer;
}

const SALT_BYTES = 16;
const KEY_BYTES = 65;
const TAG_BYTES = 16;
/** Salt, record size, length of the sender's key, the key. */
const HEAD_BYTES = SALT_BYTES + 4 + 1 + KEY_BYTES;

/** What a push service's message says (RFC 8291); undefined when these keys do not open it. */
export function decryptPush(body: Buffer, { ecdh, auth }: BrowserKeys): string | undefined {
  if (body.length <= HEAD_BYTES + TAG_BYTES || body[SALT_BYTES + 4] !== KEY_BYTES) return undefined;
  const salt = body.subarray(0, SALT_BYTES);
  const sender = body.subarray(HEAD_BYTES - KEY_BYTES, HEAD_BYTES);
  const [sealed, tag] = [body.subarray(HEAD_BYTES, -TAG_BYTES), body.subarray(-TAG_BYTES)];
  try {
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), sender]);
    const input = Buffer.from(hkdfSync('sha256', ecdh.computeSecret(sender), auth, info, 32));
    const derive = (what: string, length: number) =>
      Buffer.from(hkdfSync('sha256', input, salt, `Content-Encoding: ${what}\0`, length));
    const decipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
    decipher.setAuthTag(tag);
    const padded = Buffer.concat([decipher.update(sealed), decipher.final()]);
    // Behind the text are the delimiter of the last record, and zeros.
    return padded.toString('utf8', 0, padded.lastIndexOf(2));
  } catch {
    // Other keys, or no message.
    return undefined;
  }
}

export function newBrowserKeys(auth: Buffer): BrowserKeys {
  const ecdh = createECDH('prime256v1');
  ecdh.generateKeys();
  return { ecdh, auth };
}
