import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { readUnsigned, unsignedLength, writeUnsigned } from '../../schemas/varint.ts';
import { decodeBase32, encodeBase32 } from './base32.ts';

/** What a token allows; one for another purpose is invalid. */
export type TrackingPurpose = 'open' | 'unsubscribe' | 'preferences' | 'bounce';

/** A message as tokens name it: the row of its recipient, and nothing about the person. */
export interface TrackedMessage {
  accountId: number;
  /** 12 bytes, unique in the account. */
  ref: Buffer;
}

export interface TrackingKey {
  /** 0 to 255. */
  id: number;
  /** 32 bytes. */
  bytes: Buffer;
}

const VERSION = 1;
export const REF_BYTES = 12;
const MAC_BYTES = 10;
/** Version and key id. */
const HEAD_BYTES = 2;
const MIN_BYTES = HEAD_BYTES + 1 + REF_BYTES + MAC_BYTES;
/** Account ids have 53 bits: 8 bytes as a varint. */
const MAX_BYTES = MIN_BYTES + 7;

interface Encoding {
  encode: (bytes: Buffer) => string;
  decode: (text: string) => Buffer | undefined;
  maxLength: number;
}

const BASE64URL: Encoding = {
  encode: (bytes) => bytes.toString('base64url'),
  decode: (text) => {
    const bytes = Buffer.from(text, 'base64url');
    // Padding, other alphabets and unused bits would give a token many spellings.
    return bytes.toString('base64url') === text ? bytes : undefined;
  },
  maxLength: Math.ceil((MAX_BYTES * 4) / 3),
};

/** For local parts of addresses (VERP): mail systems may change their case. */
const BASE32: Encoding = {
  encode: encodeBase32,
  decode: decodeBase32,
  maxLength: Math.ceil((MAX_BYTES * 8) / 5),
};

/**
 * Tokens in the addresses of /e/ pages and local parts of bounce addresses (docs/channels.md, Pages
 * of messages). Bytes: version | key id | account (varint) | ref (12) | HMAC-SHA256 over the
 * purpose and all of these (first 10 bytes). They hold no time: a token is valid while its key is
 * known, which has to be 400 days at least.
 */
export class TrackingTokens {
  readonly #newest: { id: number; key: KeyObject };
  /** As objects: of bytes, each HMAC would make one again, which takes four times as long. */
  readonly #keys: ReadonlyMap<number, KeyObject>;

  /** @param keys the first one signs, all of them verify */
  constructor(keys: readonly [TrackingKey, ...TrackingKey[]]) {
    const made = keys.map(({ id, bytes }) => [id, createSecretKey(bytes)] as const);
    this.#newest = { id: keys[0].id, key: createSecretKey(keys[0].bytes) };
    this.#keys = new Map(made);
  }

  /** Throws RangeError for a ref of another length or an account id below 0. */
  write(purpose: TrackingPurpose, { accountId, ref }: TrackedMessage): string {
    if (ref.length !== REF_BYTES) throw new RangeError(`a ref has ${REF_BYTES} bytes`);
    const signed = Buffer.alloc(HEAD_BYTES + unsignedLength(accountId) + REF_BYTES);
    signed[0] = VERSION;
    signed[1] = this.#newest.id;
    ref.copy(signed, writeUnsigned(accountId, signed, HEAD_BYTES));
    const mac = macOf(purpose, signed, this.#newest.key);
    return encodingOf(purpose).encode(Buffer.concat([signed, mac]));
  }

  /** Undefined for a text that no key of this installation signed for the purpose. */
  read(purpose: TrackingPurpose, text: string): TrackedMessage | undefined {
    const encoding = encodingOf(purpose);
    if (text.length > encoding.maxLength) return undefined;
    const bytes = encoding.decode(text);
    if (!bytes || bytes.length < MIN_BYTES || bytes[0] !== VERSION) return undefined;
    const key = this.#keys.get(bytes[1] ?? 0);
    const signed = bytes.subarray(0, -MAC_BYTES);
    if (!key || !timingSafeEqual(macOf(purpose, signed, key), bytes.subarray(-MAC_BYTES)))
      return undefined;
    // Signed here, so it has this form.
    const { value: accountId, end } = readUnsigned(signed, HEAD_BYTES);
    return { accountId, ref: signed.subarray(end) };
  }
}

function encodingOf(purpose: TrackingPurpose): Encoding {
  return purpose === 'bounce' ? BASE32 : BASE64URL;
}

function macOf(purpose: TrackingPurpose, signed: Buffer, key: KeyObject): Buffer {
  const mac = createHmac('sha256', key).update(`${purpose}\0`).update(signed);
  return mac.digest().subarray(0, MAC_BYTES);
}
