import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createPlain, type Server } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Certificate } from './certificates.ts';

export const CLIENT_ID = 'ravand';
export const CLIENT_SECRET = 'client-secret';
/** Tokens of this scope expire soon. */
export const SHORT_SCOPE = 'short';
const SHORT_SECONDS = 3;

/** An authorization server: gives signed tokens over TLS, and shows its keys for the broker. */
export class TokenServer {
  /** How many tokens of SHORT_SCOPE it gave. */
  given = 0;
  readonly #servers: Server[] = [];
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  static async start(certificate: Certificate): Promise<TokenServer> {
    const made = new TokenServer();
    const tls = {
      cert: readFileSync(certificate.cert),
      key: readFileSync(certificate.key),
    };
    made.#servers.push(
      createPlain((_, response) => {
        const key = { ...made.#keys.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig' };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ keys: [{ ...key, alg: 'RS256' }] }));
      }),
      createSecure(tls, (request, response) => {
        const login = Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64');
        response.setHeader('content-type', 'application/json');
        if (request.headers.authorization !== `Basic ${login}`) {
          response.statusCode = 401;
          response.end('{"error":"invalid_client"}');
          return;
        }
        void text(request).then((form) => {
          const isShort = new URLSearchParams(form).get('scope') === SHORT_SCOPE;
          const seconds = isShort ? SHORT_SECONDS : 600;
          if (isShort) made.given++;
          response.end(JSON.stringify({ access_token: made.token(seconds), expires_in: seconds }));
        });
      }),
    );
    for (const server of made.#servers) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    return made;
  }

  get jwks(): string {
    return `http://127.0.0.1:${this.#port(0)}/jwks`;
  }

  get url(): string {
    return `https://localhost:${this.#port(1)}/token`;
  }

  token(seconds: number): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = { sub: CLIENT_ID, aud: 'kafka', iat: now, exp: now + seconds };
    return signed(claims, this.#keys.privateKey);
  }

  close(): void {
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
  }

  #port(of: number): number {
    return (this.#servers[of]?.address() as AddressInfo).port;
  }
}

function signed(claims: object, key: KeyObject): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = `${part({ alg: 'RS256', kid: 'one', typ: 'JWT' })}.${part(claims)}`;
  return `${body}.${createSign('RSA-SHA256').update(body).sign(key).toString('base64url')}`;
}
