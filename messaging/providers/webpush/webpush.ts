import type { Header } from '../../../platform/http2/header-decoder.ts';
import { AddressRefused } from '../../../platform/outbound/guard.ts';
import { PostClient, type PostDestination } from '../../../platform/outbound/post-client.ts';
import { withoutAnswer } from '../api-answer.ts';
import { collapseId } from '../collapse-id.ts';
import { ConfigFields } from '../config-fields.ts';
import { ForeignAddresses } from '../foreign-addresses.ts';
import type { Opening } from '../opening.ts';
import type { Provider, ProviderAnswer, ProviderMessage, Target } from '../provider.ts';
import { tooLarge, wrongTarget } from '../unsendable.ts';
import { encryptPush, MAX_PLAINTEXT_BYTES, subscriptionKeys } from './encrypt.ts';
import { VapidTokens } from './vapid-tokens.ts';
import { webPushAnswer } from './webpush-answer.ts';

interface WebPushConfig {
  /** Whom a push service writes to: `mailto:` or `https:` (RFC 8292, 2.1). */
  subject: string;
}

type Browser = Target & { kind: 'browser' };

/** In total for one request, ms. */
const REQUEST_MS = 30_000;
/** What push services keep a message for at most, s. */
const MAX_TTL_S = 2_419_200;

export function parseWebPushConfig(json: unknown): WebPushConfig {
  const subject = new ConfigFields('webpush', json, ['subject']).text('subject');
  if (/^mailto:\S+@\S+$/.test(subject) || /^https:\/\/\S+$/.test(subject)) return { subject };
  throw new Error('webpush: subject has to be mailto: with an address, or an https URL');
}

/** Browsers (RFC 8030, 8291, 8292). The secret is a private key of generateVapidKeys. */
export function openWebPush(config: WebPushConfig, { channel, secret, deps }: Opening): Provider {
  const { now, guard } = deps;
  const tokens = new VapidTokens({ subject: config.subject, privateKey: secret, now });
  const client = new PostClient(guard);
  const isAllowed = (url: URL) => guard.allowed.names(url.hostname);
  const sender = new WebPushSender({ client, tokens, now, isAllowed });
  return {
    channel,
    name: 'webpush',
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
  tokens: VapidTokens;
  now: () => number;
  /** Hosts that the operator allows may be reached without encryption. */
  isAllowed: (url: URL) => boolean;
}

class WebPushSender {
  readonly #options: SenderOptions;
  readonly #foreign = new ForeignAddresses();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  async send(message: ProviderMessage, signal: AbortSignal): Promise<ProviderAnswer> {
    const { to } = message;
    if (to.kind !== 'browser') return wrongTarget('webpush', to);
    const plaintext = Buffer.from(pushJson(message));
    if (plaintext.length > MAX_PLAINTEXT_BYTES) return tooLarge(MAX_PLAINTEXT_BYTES);
    const destination = this.#destinationOf(to);
    if (typeof destination === 'string') return unusable(destination);
    const body = encryptFor(to, plaintext);
    if (!body) return unusable('the keys of the subscription are not valid');
    return this.#post({ message, to, destination, body, signal });
  }

  async #post(request: {
    message: ProviderMessage;
    to: Browser;
    destination: PostDestination;
    body: Buffer;
    signal: AbortSignal;
  }): Promise<ProviderAnswer> {
    const { message, to, destination, body, signal } = request;
    const { client, tokens, now } = this.#options;
    const result = await client.post(destination, {
      shared: tokens.headersFor(destination.url.origin),
      headers: headersOf(message, now()),
      ...{ body, timeout: REQUEST_MS, signal },
    });
    if (result.kind !== 'answered') {
      const answer = withoutAnswer(result);
      // Only its name leads to a forbidden address, today: networks answer so for hosts they block.
      return answer.kind === 'broken' ? { ...answer, kind: 'retry' } : answer;
    }
    const answer = webPushAnswer(result, now());
    if (answer.kind === 'foreign_address') return this.#foreign.refused(to.endpoint, answer.detail);
    if (answer.kind === 'accepted') this.#foreign.accepted();
    return answer;
  }

  /** Or why nothing is ever sent there. */
  #destinationOf({ endpoint }: Browser): PostDestination | string {
    const { client, isAllowed } = this.#options;
    try {
      const destination = client.destination(endpoint);
      const isSecure = destination.url.protocol === 'https:' || isAllowed(destination.url);
      return isSecure ? destination : 'the endpoint is not https';
    } catch (error) {
      if (!(error instanceof AddressRefused)) throw error;
      return error.message;
    }
  }
}

function unusable(detail: string): ProviderAnswer {
  return { kind: 'dead_address', reason: 'invalid_subscription', detail };
}

/** Undefined: the keys are not keys. */
function encryptFor(to: Browser, plaintext: Buffer): Buffer | undefined {
  const keys = subscriptionKeys(to);
  try {
    return keys && encryptPush(plaintext, keys);
  } catch {
    // No point of the curve.
    return undefined;
  }
}

/** What the service worker gets; `sg_mid` is the message id for its clicks. */
function pushJson({ content, messageId }: ProviderMessage): string {
  const { title, text, url, data } = content;
  return JSON.stringify({ title, body: text, url, data, sg_mid: messageId });
}

function headersOf({ messageId, expiresAt }: ProviderMessage, now: number): Header[] {
  const ttl = Math.min(Math.max(0, Math.floor((expiresAt - now) / 1000)), MAX_TTL_S);
  return [
    ['ttl', String(ttl)],
    ['topic', collapseId(messageId)],
  ];
}
