import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** First byte of sealed bytes: the version of the layout. */
const LAYOUT = 1;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAX_ID_BYTES = 64;

/** The form of SEALING_KEY, for the message of an invalid setting. */
export const SEALING_KEY_FORM =
  'id:KEY, or several separated by commas, each KEY base64 of 32 random bytes (openssl rand -base64 32), each id 1 to 64 of A-Z a-z 0-9 . _ - and given once';

/** Sealed bytes that cannot be opened. `code` is stable. */
export class SealError extends Error {
  readonly code: 'unknown_key' | 'not_sealed' | 'wrong_seal';
  constructor(code: SealError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SealError';
    this.code = code;
  }
}

interface Key {
  id: string;
  bytes: Buffer;
}

/**
 * Seals secrets for storage: AES-256-GCM under the first key of SEALING_KEY; any of its keys opens.
 * Layout: version 1 | length of the key id (1 byte) | key id | nonce (12) | ciphertext | tag (16).
 * Additional authenticated data: everything before the nonce, and the purpose.
 */
export class Sealer {
  readonly #keys: readonly [Key, ...Key[]];
  readonly #randomBytes: (size: number) => Buffer;

  constructor(keys: readonly [Key, ...Key[]], random: (size: number) => Buffer = randomBytes) {
    this.#keys = keys;
    this.#randomBytes = random;
  }

  /**
   * Seals a text for one purpose, for example `integration:1:event_pipeline`. It opens for that
   * purpose only, so sealed bytes are useless in another row.
   */
  seal(plain: string, purpose: string): Buffer {
    const { id, bytes } = this.#keys[0];
    const head = Buffer.concat([Buffer.of(LAYOUT, Buffer.byteLength(id)), Buffer.from(id)]);
    const nonce = this.#randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', bytes, nonce);
    cipher.setAAD(Buffer.concat([head, Buffer.from(purpose)]));
    return Buffer.concat([
      head,
      nonce,
      cipher.update(plain, 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
  }

  /** Opens a text that was sealed for this purpose. Throws SealError. */
  open(sealed: Uint8Array, purpose: string): string {
    const { id, head, rest } = read(sealed);
    const key = this.#keys.find((one) => one.id === id);
    if (!key)
      throw new SealError(
        'unknown_key',
        `sealed under the key ${id}, which SEALING_KEY does not hold: add it behind the first one`,
      );
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, rest.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.concat([head, Buffer.from(purpose)]));
      decipher.setAuthTag(rest.subarray(-TAG_BYTES));
      return Buffer.concat([
        decipher.update(rest.subarray(NONCE_BYTES, -TAG_BYTES)),
        decipher.final(),
      ]).toString('utf8');
    } catch (cause) {
      throw new SealError(
        'wrong_seal',
        `the key ${id} does not open these bytes for this purpose: its value was changed, or the bytes were`,
        {
          cause,
        },
      );
    }
  }

  /** Whether the first key sealed the bytes, for rotations. May throw SealError. */
  isCurrent(sealed: Uint8Array): boolean {
    return read(sealed).id === this.#keys[0].id;
  }
}

function read(sealed: Uint8Array): { id: string; head: Buffer; rest: Buffer } {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const headBytes = 2 + (bytes[1] ?? 0);
  if (bytes[0] !== LAYOUT || bytes.length < headBytes + NONCE_BYTES + TAG_BYTES)
    throw new SealError('not_sealed', 'the bytes are not of a layout that this version seals');
  const head = bytes.subarray(0, headBytes);
  return { id: head.subarray(2).toString('utf8'), head, rest: bytes.subarray(headBytes) };
}

/**
 * Parses SEALING_KEY; undefined when it is empty, and nothing can be sealed. Throws an Error whose
 * message is the expected form, without the text.
 */
export function parseSealingKeys(
  text: string,
  random: (size: number) => Buffer = randomBytes,
): Sealer | undefined {
  if (text.trim() === '') return undefined;
  const keys = text.split(',').map((part) => parseKey(part.trim()));
  const [first, ...others] = keys;
  if (!first || new Set(keys.map(({ id }) => id)).size < keys.length)
    throw new Error(SEALING_KEY_FORM);
  return new Sealer([first, ...others], random);
}

function parseKey(part: string): Key {
  const [, id = '', encoded = ''] = /^([A-Za-z0-9._-]+):([A-Za-z0-9+/_-]+={0,2})$/.exec(part) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  if (id === '' || id.length > MAX_ID_BYTES || bytes.length !== KEY_BYTES)
    throw new Error(SEALING_KEY_FORM);
  return { id, bytes };
}

/** A new value of SEALING_KEY with one key. */
export function makeSealingKey(id: string): string {
  return `${id}:${randomBytes(KEY_BYTES).toString('base64')}`;
}
