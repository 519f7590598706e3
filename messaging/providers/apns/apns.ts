import type { SharedHeaders } from '../../../platform/http2/header-encoder.ts';
import { PostClient } from '../../../platform/outbound/post-client.ts';
import { withoutAnswer } from '../api-answer.ts';
import { ConfigFields } from '../config-fields.ts';
import { ForeignAddresses } from '../foreign-addresses.ts';
import type { Opening } from '../opening.ts';
import type { Provider, ProviderAnswer, ProviderMessage, Target } from '../provider.ts';
import { tooLarge, unsupportedService, wrongTarget } from '../unsendable.ts';
import { apnsAnswer, type ApnsAnswer } from './apns-answer.ts';
import { apnsMessage, MAX_BYTES, type ApnsMessage } from './apns-message.ts';
import { parseSigningKey, providerToken, tokenIssuedAt } from './provider-token.ts';

interface ApnsConfig {
  teamId: string;
  keyId: string;
  /** The bundle id of the app. */
  topic: string;
  url: string;
  /** The other environment, which has the tokens of apps that are being developed. */
  otherUrl: string | undefined;
}

type Device = Target & { kind: 'device' };

const PRODUCTION = 'https://api.push.apple.com';
const OTHER: Readonly<Record<string, string>> = {
  [PRODUCTION]: 'https://api.sandbox.push.apple.com',
  'https://api.sandbox.push.apple.com': PRODUCTION,
};
/** In total for one request, ms. */
const REQUEST_MS = 30_000;
const DEVICE_TOKEN = /^(?:[0-9a-f]{2}){1,100}$/i;

export function parseApnsConfig(json: unknown): ApnsConfig {
  const fields = new ConfigFields('apns', json, ['team_id', 'key_id', 'topic', 'url']);
  const url = fields.baseUrl('url', PRODUCTION);
  return {
    teamId: fields.identifier('team_id'),
    keyId: fields.identifier('key_id'),
    topic: fields.identifier('topic'),
    url,
    otherUrl: OTHER[url],
  };
}

/**
 * Apple Push Notification service (developer.apple.com: sending notification requests to APNs). The
 * secret is the .p8 file of the key.
 */
export function openApns(config: ApnsConfig, { channel, secret, deps }: Opening): Provider {
  const client = new PostClient(deps.guard);
  const sender = new ApnsSender({
    ...{ client, config, privateKey: parseSigningKey(secret), now: deps.now },
  });
  return {
    channel,
    name: 'apns',
    isIdempotent: false,
    send: (message, { signal }) => sender.send(message, signal),
    close() {
      client.close();
      return Promise.resolve();
    },
  };
}

interface SenderOptions {
  client: PostClient;
  config: ApnsConfig;
  privateKey: Buffer;
  now: () => number;
}

class ApnsSender {
  readonly #options: SenderOptions;
  readonly #foreign = new ForeignAddresses();
  #issuedAt = 0;
  #headers: Record<'alert' | 'background', SharedHeaders> = { alert: [], background: [] };

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  async send(message: ProviderMessage, signal: AbortSignal): Promise<ProviderAnswer> {
    const { to } = message;
    if (to.kind !== 'device') return wrongTarget('apns', to);
    if (to.provider !== 'apns') return unsupportedService('apns', to.provider);
    if (!DEVICE_TOKEN.test(to.token)) return badToken('the token is not hexadecimal');
    const sent = apnsMessage(message, to.token);
    if (sent.payload.length > MAX_BYTES) return tooLarge(MAX_BYTES);
    const { url, otherUrl } = this.#options.config;
    const answer = await this.#attempt({ url, to, sent, signal });
    if (answer.kind !== 'bad_token') return this.#decide(answer, to);
    if (otherUrl === undefined) return badToken(answer.detail);
    const other = await this.#attempt({ url: otherUrl, to, sent, signal });
    // What the other environment says about the key does not concern this one.
    const isHere = other.kind === 'bad_token' || other.kind === 'broken';
    return isHere ? badToken(answer.detail) : this.#decide(other, to);
  }

  async #attempt(request: {
    url: string;
    to: Device;
    sent: ApnsMessage;
    signal: AbortSignal;
  }): Promise<ApnsAnswer> {
    const { client, now } = this.#options;
    const { url, to, sent, signal } = request;
    const result = await client.post(url, {
      path: `/3/device/${to.token}`,
      shared: this.#sharedHeaders()[sent.isAlert ? 'alert' : 'background'],
      ...{ headers: sent.headers, body: sent.payload, timeout: REQUEST_MS, signal },
    });
    return result.kind === 'answered' ? apnsAnswer(result, now()) : withoutAnswer(result);
  }

  #decide(answer: Exclude<ApnsAnswer, { kind: 'bad_token' }>, to: Device): ProviderAnswer {
    switch (answer.kind) {
      case 'accepted':
        this.#foreign.accepted();
        return answer;
      case 'foreign_address':
        return this.#foreign.refused(to.token, answer.detail);
      case 'unregistered': {
        const { reason, detail, since } = answer;
        // APNs says late, on purpose, that an app was removed; it may be installed again.
        return (to.registeredAt ?? 0) > since
          ? { kind: 'rejected', reason: 'rejected_by_provider', detail }
          : { kind: 'dead_address', reason, detail };
      }
      default:
        return answer;
    }
  }

  #sharedHeaders(): Record<'alert' | 'background', SharedHeaders> {
    const { config, privateKey, now } = this.#options;
    const issuedAt = tokenIssuedAt(now());
    if (issuedAt === this.#issuedAt) return this.#headers;
    this.#issuedAt = issuedAt;
    const authorization = `bearer ${providerToken({ ...config, privateKey, issuedAt })}`;
    const headers = (type: string, priority: string): SharedHeaders => [
      ['authorization', authorization],
      ['apns-topic', config.topic],
      ['apns-push-type', type],
      ['apns-priority', priority],
    ];
    // Apple wants 5 for what only wakes an app up.
    this.#headers = { alert: headers('alert', '10'), background: headers('background', '5') };
    return this.#headers;
  }
}

function badToken(detail: string): ProviderAnswer {
  return { kind: 'dead_address', reason: 'bad_device_token', detail };
}
