import { sign } from 'node:crypto';
import { BoundedMap } from '../../../platform/bounded-map.ts';
import type { SharedHeaders } from '../../../platform/http2/header-encoder.ts';
import { signedToken } from '../jwt.ts';
import { vapidPublicKey, vapidSigningKey } from './vapid-keys.ts';

/** Push services take tokens for 24 hours at most (RFC 8292, 2), ms. */
const LIFETIME_MS = 43_200_000;
/** A token is replaced after this time, ms. */
const USE_MS = 21_600_000;
const MAX_ORIGINS = 1000;

/** The headers of requests to push services: a signature takes longer than everything else. */
export class VapidTokens {
  readonly #options: { subject: string; privateKey: string; now: () => number };
  readonly #publicKey: string;
  readonly #key;
  readonly #known = new BoundedMap<string, { headers: SharedHeaders; until: number }>(MAX_ORIGINS);

  /** Throws an Error that never quotes the private key. */
  constructor(options: { subject: string; privateKey: string; now: () => number }) {
    this.#options = options;
    this.#publicKey = vapidPublicKey(options.privateKey);
    this.#key = vapidSigningKey(options.privateKey);
  }

  headersFor(origin: string): SharedHeaders {
    const now = this.#options.now();
    const known = this.#known.get(origin);
    if (known && now < known.until) return known.headers;
    const headers = this.#headers(origin, now);
    this.#known.set(origin, { headers, until: now + USE_MS });
    return headers;
  }

  #headers(origin: string, now: number): SharedHeaders {
    const token = signedToken({
      header: { alg: 'ES256', typ: 'JWT' },
      claims: {
        ...{ aud: origin, sub: this.#options.subject },
        exp: Math.floor((now + LIFETIME_MS) / 1000),
      },
      sign: (bytes) => sign('sha256', bytes, { key: this.#key, dsaEncoding: 'ieee-p1363' }),
    });
    return [
      ['authorization', `vapid t=${token}, k=${this.#publicKey}`],
      ['content-encoding', 'aes128gcm'],
      ['content-type', 'application/octet-stream'],
      ['urgency', 'normal'],
    ];
  }
}
