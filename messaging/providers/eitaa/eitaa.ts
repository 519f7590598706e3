import { jsonObject, type JsonObject } from '../../../events/json.ts';
import { ApiClient } from '../../../platform/outbound/api-client.ts';
import { answerOfStatus, callApi, messageFaults } from '../api-answer.ts';
import { chatText } from '../chat-text.ts';
import { ConfigFields } from '../config-fields.ts';
import type { Opening } from '../opening.ts';
import type { Provider, ProviderAnswer } from '../provider.ts';
import { wrongTarget } from '../unsendable.ts';

interface EitaaConfig {
  url: string;
}

export function parseEitaaConfig(json: unknown): EitaaConfig {
  return { url: new ConfigFields('eitaa', json, ['url']).baseUrl('url', 'https://eitaayar.ir') };
}

/**
 * Eitaa (developer.eitaa.com/docs/Develop). The secret is the token. People, whose chat ids are
 * numbers, are reached through the mini app; channels and groups by name through the bot API.
 */
export function openEitaa(config: EitaaConfig, { channel, secret, deps }: Opening): Provider {
  const client = new ApiClient(deps.guard);
  const faults = messageFaults();
  const requestTo = (chatId: string, text: string) =>
    /^\d{1,15}$/.test(chatId)
      ? {
          url: `${config.url}/api/app/sendMessage`,
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ token: secret, chat_id: Number(chatId), text }),
        }
      : {
          url: `${config.url}/api/${encodeURIComponent(secret)}/sendMessage`,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' },
          body: new URLSearchParams({ chat_id: chatId, text }).toString(),
        };
  return {
    channel,
    name: 'eitaa',
    isIdempotent: false,
    async send({ to, content }, { signal }) {
      if (to.kind !== 'chat') return wrongTarget('eitaa', to);
      return await callApi(client, {
        ...requestTo(to.chatId, chatText(content)),
        ...{ signal, secret, isIdempotent: false, now: deps.now, read: answerOf },
        ...{ faults, address: to.chatId },
      });
    },
    close() {
      client.close();
      return Promise.resolve();
    },
  };
}

/** `{ok, result}`; of refusals only the form is known, so each concerns its message alone. */
function answerOf(json: JsonObject, httpStatus: number): ProviderAnswer | undefined {
  if (json['ok'] === true) {
    const id = jsonObject(json['result'])?.['message_id'];
    return { kind: 'accepted', providerMessageId: typeof id === 'number' ? String(id) : '' };
  }
  if (json['ok'] !== false) return undefined;
  const description = typeof json['description'] === 'string' ? json['description'] : '';
  const code = typeof json['error_code'] === 'number' ? json['error_code'] : httpStatus;
  const detail = `${code} ${description}`;
  return code === 401 || code === 429 || code >= 500
    ? answerOfStatus({ status: code, detail }, { isIdempotent: false })
    : { kind: 'rejected', reason: 'rejected_by_provider', detail };
}
