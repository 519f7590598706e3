import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { rememberSecret } from '../redaction/known-secrets.ts';
import type { SettingsOf } from '../settings.ts';
import type { oauthSettings } from './sasl-settings.ts';

/** A token of SASL OAUTHBEARER, and when it is no longer to be used, ms since the epoch. */
interface Token {
  value: string;
  expiresAt: number;
}

/** Tokens of this process, for all of its connections to Kafka. */
export interface TokenSource {
  /** A token that is valid for a while; rejects when none can be had. */
  token(): Promise<string>;
  /**
   * Passes each later token to `use`, before the one in use expires, until it is ended. A failure
   * is tried again.
   */
  follow(use: (token: string) => void): { end: () => void };
}

type OauthSettings = SettingsOf<typeof oauthSettings>;

const REQUEST_MS = 10_000;
const MAX_ANSWER = 64 * 1024;
/** Where neither the answer nor the token says how long it is valid, ms. */
const UNKNOWN_LIFETIME = 5 * 60_000;
/** A token is renewed when this share of its lifetime has passed. */
const RENEWED_AFTER = 0.8;
/** Between two attempts, ms. */
const RETRY_MS = 5000;
/** Longer waits overflow Node's timers, ms. */
const MAX_WAIT_MS = 86_400_000;

const sources = new Map<string, TokenSource>();

/** The source of the tokens; undefined with another mechanism. One per process and settings. */
export function tokensOf(
  settings: OauthSettings & { readonly KAFKA_SASL_MECHANISM: string },
): TokenSource | undefined {
  if (settings.KAFKA_SASL_MECHANISM !== 'OAUTHBEARER') return undefined;
  const id = [
    settings.KAFKA_OAUTH_TOKEN_URL,
    settings.KAFKA_OAUTH_CLIENT_ID,
    settings.KAFKA_OAUTH_SCOPE,
    settings.KAFKA_OAUTH_TOKEN_PATH,
  ].join('\n');
  const known = sources.get(id);
  if (known) return known;
  const made = tokenSource(() => fetchToken(settings, Date.now()), Date.now);
  sources.set(id, made);
  return made;
}

/** Keeps one token, and fetches the next one when most of its lifetime has passed. */
export function tokenSource(fetch: () => Promise<Token>, now: () => number): TokenSource {
  let current: { token: Token; renewAt: number } | undefined;
  let fetching: Promise<void> | undefined;
  const renew = async () => {
    const token = await fetch();
    const at = now();
    rememberSecret(token.value);
    current = { token, renewAt: at + (token.expiresAt - at) * RENEWED_AFTER };
  };
  const fresh = async (): Promise<{ token: Token; renewAt: number }> => {
    if (current && now() < current.renewAt) return current;
    fetching ??= renew().finally(() => (fetching = undefined));
    try {
      await fetching;
    } catch (error) {
      // One that expires soon is better than none.
      if (!current || now() >= current.token.expiresAt) throw error;
    }
    return current as { token: Token; renewAt: number };
  };
  return {
    token: async () => (await fresh()).token.value,
    follow(use) {
      let timer: NodeJS.Timeout | undefined;
      let used = current?.token.value;
      const wait = (ms: number) => {
        timer = setTimeout(() => void next(), Math.min(Math.max(ms, 0), MAX_WAIT_MS)).unref();
      };
      const next = async () => {
        let ms = RETRY_MS;
        try {
          const { token, renewAt } = await fresh();
          if (timer === undefined) return;
          if (token.value !== used) use(token.value);
          used = token.value;
          ms = Math.max(renewAt - now(), 1000);
        } catch {
          // the next attempt may succeed; the connections show the failure
        }
        if (timer !== undefined) wait(ms);
      };
      wait((current?.renewAt ?? now()) - now());
      return {
        end() {
          clearTimeout(timer);
          timer = undefined;
        },
      };
    },
  };
}

async function fetchToken(settings: OauthSettings, now: number): Promise<Token> {
  const path = settings.KAFKA_OAUTH_TOKEN_PATH;
  if (path !== '') {
    const value = (await readFile(path, 'utf8')).trim();
    if (value === '') throw new Error(`${path} (KAFKA_OAUTH_TOKEN_PATH) is empty`);
    return { value, expiresAt: expiryOf(value) ?? now + UNKNOWN_LIFETIME };
  }
  const { status, body } = await askForToken(settings);
  const answer = parsed(body);
  const value = answer?.['access_token'];
  if (status !== 200 || typeof value !== 'string') {
    const reason = answer?.['error'];
    throw new Error(
      `${settings.KAFKA_OAUTH_TOKEN_URL} (KAFKA_OAUTH_TOKEN_URL) gave no token: status ${status}${typeof reason === 'string' ? `, ${reason}` : ''}; check KAFKA_OAUTH_CLIENT_ID, KAFKA_OAUTH_CLIENT_SECRET and KAFKA_OAUTH_SCOPE`,
    );
  }
  const seconds = Number(answer?.['expires_in']);
  const lifetime = seconds > 0 ? seconds * 1000 : UNKNOWN_LIFETIME;
  return { value, expiresAt: expiryOf(value) ?? now + lifetime };
}

function askForToken(settings: OauthSettings): Promise<{ status: number; body: string }> {
  const url = new URL(settings.KAFKA_OAUTH_TOKEN_URL);
  const ca = settings.KAFKA_OAUTH_CA_FILE;
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(settings.KAFKA_OAUTH_SCOPE === '' ? {} : { scope: settings.KAFKA_OAUTH_SCOPE }),
  }).toString();
  const login = [settings.KAFKA_OAUTH_CLIENT_ID, settings.KAFKA_OAUTH_CLIENT_SECRET]
    .map(encodeURIComponent)
    .join(':');
  const options = {
    method: 'POST',
    agent: false,
    signal: AbortSignal.timeout(REQUEST_MS),
    ...(ca === '' ? {} : { ca: readFileSync(ca, 'utf8') }),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': Buffer.byteLength(form),
      accept: 'application/json',
      authorization: `Basic ${Buffer.from(login).toString('base64')}`,
    },
  };
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(
        new Error(
          `cannot get a token from ${settings.KAFKA_OAUTH_TOKEN_URL} (KAFKA_OAUTH_TOKEN_URL): ${error.message}`,
          { cause: error },
        ),
      );
    const request = (url.protocol === 'https:' ? requestSecure : requestPlain)(
      url,
      options,
      (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
          if (body.length > MAX_ANSWER) request.destroy(new Error('the answer is too long'));
        });
        response.on('error', fail);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      },
    );
    request.on('error', fail);
    request.end(form);
  });
}

function parsed(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** `exp` of a JWT, ms since the epoch; undefined: it is none, or does not say. */
function expiryOf(token: string): number | undefined {
  const payload = token.split('.')[1] ?? '';
  const seconds = Number(parsed(Buffer.from(payload, 'base64url').toString())?.['exp']);
  return seconds > 0 ? seconds * 1000 : undefined;
}
