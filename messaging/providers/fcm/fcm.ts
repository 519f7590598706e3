import { onAbort } from '../../../platform/on-abort.ts';
import { PostClient } from '../../../platform/outbound/post-client.ts';
import { withoutAnswer } from '../api-answer.ts';
import { ConfigFields } from '../config-fields.ts';
import { ForeignAddresses } from '../foreign-addresses.ts';
import type { Opening } from '../opening.ts';
import type { Provider, ProviderAnswer, ProviderMessage } from '../provider.ts';
import { tooLarge, unsupportedService, wrongTarget } from '../unsendable.ts';
import { AccessTokens, type AccessToken } from './access-tokens.ts';
import { fcmAnswer, type FcmAnswer } from './fcm-answer.ts';
import { fcmMessage, MAX_BYTES } from './fcm-message.ts';
import { parseServiceAccount } from './service-account.ts';

interface FcmConfig {
  projectId: string;
  url: string;
}

/** In total for one request, ms. */
const REQUEST_MS = 30_000;

export function parseFcmConfig(json: unknown): FcmConfig {
  const fields = new ConfigFields('fcm', json, ['project_id', 'url']);
  return {
    projectId: fields.identifier('project_id'),
    url: fields.baseUrl('url', 'https://fcm.googleapis.com'),
  };
}

/**
 * Android, iOS and web apps with Firebase (firebase.google.com/docs/reference/fcm/rest/v1). The
 * secret is the key file of a service account.
 */
export function openFcm(config: FcmConfig, { channel, secret, deps }: Opening): Provider {
  const account = parseServiceAccount(secret);
  const client = new PostClient(deps.guard);
  const sender = new FcmSender({
    client,
    tokens: new AccessTokens({ client, account, now: deps.now }),
    url: `${config.url}/v1/projects/${config.projectId}/messages:send`,
    now: deps.now,
  });
  return {
    channel,
    name: 'fcm',
    isIdempotent: false,
    send: (message, { signal }) => sender.send(message, signal),
    close() {
      client.close();
      return Promise.resolve();
    },
  };
}

class FcmSender {
  readonly #options: { client: PostClient; tokens: AccessTokens; url: string; now: () => number };
  readonly #foreign = new ForeignAddresses();

  constructor(options: {
    client: PostClient;
    tokens: AccessTokens;
    url: string;
    now: () => number;
  }) {
    this.#options = options;
  }

  async send(message: ProviderMessage, signal: AbortSignal): Promise<ProviderAnswer> {
    const { to } = message;
    if (to.kind !== 'device') return wrongTarget('fcm', to);
    if (to.provider !== 'fcm') return unsupportedService('fcm', to.provider);
    const { json, isTooLarge } = fcmMessage(message, { token: to.token, now: this.#options.now() });
    if (isTooLarge) return tooLarge(MAX_BYTES);
    const body = Buffer.from(json);
    const first = await this.#attempt(body, signal);
    // The token ended early. The message was not taken, and another token is worth an attempt.
    const answer = first.kind === 'refused_token' ? await this.#attempt(body, signal) : first;
    if (answer.kind === 'refused_token')
      return { ...answer, kind: 'broken', reason: 'credentials' };
    if (answer.kind === 'foreign_address') return this.#foreign.refused(to.token, answer.detail);
    return answer;
  }

  async #attempt(body: Buffer, signal: AbortSignal): Promise<FcmAnswer> {
    const { client, tokens, url, now } = this.#options;
    const token = tokens.known() ?? (await unlessAborted(tokens.current(), signal));
    if (token.kind === 'none') return token.answer;
    const shared = token.headers;
    const request = { shared, headers: [], body, timeout: REQUEST_MS, signal };
    const result = await client.post(url, request);
    if (result.kind !== 'answered') return withoutAnswer(result);
    const answer = fcmAnswer(result, now());
    if (answer.kind === 'refused_token') tokens.refused(shared);
    if (answer.kind === 'accepted') this.#foreign.accepted();
    return answer;
  }
}

/** No message was sent before there is a token. */
function unlessAborted(token: Promise<AccessToken>, signal: AbortSignal): Promise<AccessToken> {
  const { promise, resolve } = Promise.withResolvers<AccessToken>();
  const detail = 'aborted before there was an access token';
  const aborted = () =>
    resolve({ kind: 'none', answer: { kind: 'retry', reason: 'aborted', detail } });
  if (signal.aborted) aborted();
  const release = onAbort(signal, aborted);
  void token.then(resolve).finally(release);
  return promise;
}
