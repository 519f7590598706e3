import { jsonObject, type JsonObject } from '../../../events/json.ts';
import { ApiClient } from '../../../platform/outbound/api-client.ts';
import { callApi, messageFaults } from '../api-answer.ts';
import { ConfigFields } from '../config-fields.ts';
import type { Opening } from '../opening.ts';
import type { Provider, ProviderAnswer, ProviderMessage } from '../provider.ts';
import { tooLong, wrongTarget } from '../unsendable.ts';
import { localIdOf } from './local-id.ts';
import { deliveryFailure, refusalOf } from './status.ts';

interface KavenegarConfig {
  /** The line that messages come from; empty: the default one of the Kavenegar account. */
  sender: string;
  url: string;
}

const MAX_CHARACTERS = 900;

export function parseKavenegarConfig(json: unknown): KavenegarConfig {
  const fields = new ConfigFields('kavenegar', json, ['sender', 'url']);
  return {
    sender: fields.text('sender', ''),
    url: fields.baseUrl('url', 'https://api.kavenegar.com'),
  };
}

/**
 * SMS through Kavenegar (kavenegar.com/rest.html). The secret is the API key, which is in the path:
 * nothing logs or stores a URL.
 */
export function openKavenegar(
  config: KavenegarConfig,
  { channel, secret, deps }: Opening,
): Provider {
  const client = new ApiClient(deps.guard);
  const faults = messageFaults();
  const url = `${config.url}/v1/${encodeURIComponent(secret)}/sms/send.json`;
  const send = (message: ProviderMessage, number: string, signal: AbortSignal) =>
    callApi(client, {
      ...{ url, signal, secret, isIdempotent: true, now: deps.now, read: answerOf },
      ...{ faults, address: number },
      headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: new URLSearchParams({
        receptor: number,
        message: message.content.text,
        ...(config.sender === '' ? {} : { sender: config.sender }),
        localid: localIdOf(message.messageId),
      }).toString(),
    });
  return {
    channel,
    name: 'kavenegar',
    isIdempotent: true,
    async send(message, { signal }) {
      if (message.to.kind !== 'phone') return wrongTarget('kavenegar', message.to);
      const refused = tooLong(message.content.text, MAX_CHARACTERS);
      if (refused) return refused;
      return await send(message, message.to.number, signal);
    },
    close() {
      client.close();
      return Promise.resolve();
    },
  };
}

/** `{return: {status, message}, entries: [{messageid, status}]}`; the HTTP status says less. */
function answerOf(json: JsonObject): ProviderAnswer | undefined {
  const { status, message } = jsonObject(json['return']) ?? {};
  if (typeof status !== 'number') return undefined;
  if (status !== 200) return refusalOf(status, typeof message === 'string' ? message : '');
  const entries: unknown = json['entries'];
  const entry = jsonObject(Array.isArray(entries) ? entries[0] : entries);
  const id = entry?.['messageid'];
  if (typeof id !== 'number' && typeof id !== 'string') return undefined;
  const failure = deliveryFailure(entry?.['status']);
  return failure === undefined
    ? { kind: 'accepted', providerMessageId: String(id) }
    : { kind: 'rejected', reason: 'rejected_by_provider', detail: failure };
}
