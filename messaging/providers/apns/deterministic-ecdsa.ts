import { createECDH, createHash, createHmac } from 'node:crypto';

/** The order of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const BYTES = 32;

/**
 * An ECDSA signature with P-256 and SHA-256, as r and s of 32 bytes each, that is the same for the
 * same message (RFC 6979). So all processes of an installation make the same APNs token without
 * talking to each other; node:crypto offers random signatures only.
 * @param privateKey 32 bytes
 */
export function signDeterministically(message: Buffer, privateKey: Buffer): Buffer {
  const digest = createHash('sha256').update(message).digest();
  const [d, z] = [toInteger(privateKey), toInteger(digest) % ORDER];
  for (const k of candidates(privateKey, toBytes(z))) {
    const r = toInteger(pointOf(k).subarray(1, 1 + BYTES)) % ORDER;
    const s = (inverse(toInteger(k)) * (z + r * d)) % ORDER;
    if (r !== 0n && s !== 0n) return Buffer.concat([toBytes(r), toBytes(s)]);
  }
  throw new Error('unreachable: there are candidates without end');
}

/** RFC 6979, 3.2: numbers from 1 to ORDER - 1 that only who has the private key can compute. */
function* candidates(privateKey: Buffer, digest: Buffer): Generator<Buffer> {
  const hmac = (key: Buffer, ...parts: Buffer[]) =>
    createHmac('sha256', key).update(Buffer.concat(parts)).digest();
  let value: Buffer = Buffer.alloc(BYTES, 1);
  let key: Buffer = Buffer.alloc(BYTES, 0);
  for (const separator of [0, 1]) {
    key = hmac(key, value, Buffer.of(separator), privateKey, digest);
    value = hmac(key, value);
  }
  for (;;) {
    value = hmac(key, value);
    const k = toInteger(value);
    if (k > 0n && k < ORDER) yield value;
    key = hmac(key, value, Buffer.of(0));
    value = hmac(key, value);
  }
}

/** The public point of a private key, not compressed. */
function pointOf(k: Buffer): Buffer {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(k);
  return ecdh.getPublicKey();
}

/** By Fermat: ORDER is prime. */
function inverse(number: bigint): bigint {
  let [base, exponent, result] = [number % ORDER, ORDER - 2n, 1n];
  for (; exponent > 0n; exponent >>= 1n) {
    if ((exponent & 1n) === 1n) result = (result * base) % ORDER;
    base = (base * base) % ORDER;
  }
  return result;
}

function toInteger(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`);
}

function toBytes(integer: bigint): Buffer {
  return Buffer.from(integer.toString(16).padStart(2 * BYTES, '0'), 'hex');
}
