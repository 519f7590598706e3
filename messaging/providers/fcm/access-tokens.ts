import { sign } from 'node:crypto';
import type { SharedHeaders } from '../../../platform/http2/header-encoder.ts';
import type { ApiResult } from '../../../platform/outbound/api-client.ts';
import type { PostClient } from '../../../platform/outbound/post-client.ts';
import { answerOfStatus, jsonOf, withoutAnswer } from '../api-answer.ts';
import { shortDetail } from '../detail.ts';
import { signedToken } from '../jwt.ts';
import type { ProviderAnswer } from '../provider.ts';
import { retryAfterMs } from '../retry-after.ts';
import type { ServiceAccount } from './service-account.ts';

/** The headers of requests with a token, or why there is none. */
export type AccessToken =
  | { kind: 'token'; headers: SharedHeaders }
  | { kind: 'none'; answer: Exclude<ProviderAnswer, { kind: 'accepted' }> };

const FORM: SharedHeaders = [['content-type', 'application/x-www-form-urlencoded']];
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
/** Lifetime that is asked for, s; Google grants at most an hour. */
const LIFETIME_S = 3600;
/** A token is replaced so long before its end, ms. */
const RESERVE_MS = 300_000;
/** A token of an unknown or a very short lifetime is used for so long, ms. */
const MIN_USE_MS = 30_000;
const REQUEST_MS = 10_000;
/** For so long no other token is asked for after one was refused, ms. */
const REFUSED_MS = 5000;

/**
 * OAuth tokens of a service account (RFC 7523). A token is asked for once, however many messages
 * wait for it, and used until 5 minutes before its end.
 */
export class AccessTokens {
  readonly #options: { client: PostClient; account: ServiceAccount; now: () => number };
  #current: { token: AccessToken; until: number } | undefined;
  #pending: Promise<AccessToken> | undefined;

  constructor(options: { client: PostClient; account: ServiceAccount; now: () => number }) {
    this.#options = options;
  }

  /** Undefined: it has to be waited for. */
  known(): AccessToken | undefined {
    return this.#current && this.#options.now() < this.#current.until
      ? this.#current.token
      : undefined;
  }

  /** Never rejects; ends after REQUEST_MS. */
  current(): Promise<AccessToken> {
    const known = this.known();
    if (known) return Promise.resolve(known);
    this.#pending ??= this.#request().finally(() => (this.#pending = undefined));
    return this.#pending;
  }

  /** FCM refused a token: another one is asked for, unless that has happened meanwhile. */
  refused(headers: SharedHeaders): void {
    const token = this.#current?.token;
    if (token?.kind === 'token' && token.headers === headers) this.#current = undefined;
  }

  async #request(): Promise<AccessToken> {
    const askedAt = this.#options.now();
    const { token, lifetimeMs } = tokenOf(await this.#post(askedAt), askedAt);
    this.#current = { token, until: this.#options.now() + lifetimeMs };
    return token;
  }

  #post(now: number): Promise<ApiResult> {
    const { client, account } = this.#options;
    const body = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: assertionOf(account, now),
    });
    return client.post(account.tokenUrl, {
      shared: FORM,
      headers: [],
      body: Buffer.from(body.toString()),
      timeout: REQUEST_MS,
    });
  }
}

function assertionOf(account: ServiceAccount, now: number): string {
  const iat = Math.floor(now / 1000);
  return signedToken({
    header: { alg: 'RS256', typ: 'JWT', kid: account.keyId },
    claims: {
      ...{ iss: account.clientEmail, scope: SCOPE, aud: account.tokenUrl },
      ...{ iat, exp: iat + LIFETIME_S },
    },
    sign: (bytes) => sign('sha256', bytes, account.privateKey),
  });
}

function tokenOf(result: ApiResult, now: number): { token: AccessToken; lifetimeMs: number } {
  const json = result.kind === 'answered' ? jsonOf(result.body) : undefined;
  const { access_token: token, expires_in: seconds } = json ?? {};
  if (result.kind !== 'answered' || typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    return { token: { kind: 'none', answer: refusal(result, now) }, lifetimeMs: REFUSED_MS };
  const lifetimeMs = (typeof seconds === 'number' ? seconds : 0) * 1000 - RESERVE_MS;
  const headers: SharedHeaders = [
    ['authorization', `Bearer ${token}`],
    ['content-type', 'application/json'],
  ];
  return { token: { kind: 'token', headers }, lifetimeMs: Math.max(lifetimeMs, MIN_USE_MS) };
}

/** No message was sent, whatever became of the request for a token. */
function refusal(result: ApiResult, now: number): Exclude<ProviderAnswer, { kind: 'accepted' }> {
  const answer =
    result.kind === 'answered'
      ? answerOfStatus(
          {
            status: result.status,
            detail: `no access token: HTTP ${result.status} ${shortDetail(result.body)}`,
            afterMs: retryAfterMs(result.headers['retry-after'], now),
          },
          { isIdempotent: true },
        )
      : withoutAnswer(result);
  if (answer.kind === 'unknown') return { ...answer, kind: 'retry' };
  return answer.kind === 'rejected'
    ? { kind: 'broken', reason: 'credentials', detail: answer.detail }
    : answer;
}
