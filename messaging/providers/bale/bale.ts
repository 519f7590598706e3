import { jsonObject, type JsonObject } from '../../../events/json.ts';
import { ApiClient } from '../../../platform/outbound/api-client.ts';
import { answerOfStatus, callApi, messageFaults, UNCLEAR } from '../api-answer.ts';
import { chatText } from '../chat-text.ts';
import { ConfigFields } from '../config-fields.ts';
import type { Opening } from '../opening.ts';
import type { Provider, ProviderAnswer } from '../provider.ts';
import { tooLong, wrongTarget } from '../unsendable.ts';
import { escapeMarkdown } from './escape-markdown.ts';

interface BaleConfig {
  url: string;
}

const MAX_CHARACTERS = 4096;
const MAX_AFTER_MS = 86_400_000;
/** The chat does not exist for this bot, or the person closed it (public code; not documented). */
const DEAD_CHAT = /no such group or user|chat not found|user not found|bot was blocked/i;

export function parseBaleConfig(json: unknown): BaleConfig {
  return { url: new ConfigFields('bale', json, ['url']).baseUrl('url', 'https://tapi.bale.ai') };
}

/** A bot of Bale (docs.bale.ai). The secret is the token of the bot, which is in the path. */
export function openBale(config: BaleConfig, { channel, secret, deps }: Opening): Provider {
  const client = new ApiClient(deps.guard);
  const faults = messageFaults();
  const url = `${config.url}/bot${encodeURIComponent(secret)}/sendMessage`;
  return {
    channel,
    name: 'bale',
    isIdempotent: false,
    async send({ to, content }, { signal }) {
      if (to.kind !== 'chat') return wrongTarget('bale', to);
      const text = escapeMarkdown(chatText(content));
      const refused = tooLong(text, MAX_CHARACTERS);
      if (refused) return refused;
      return await callApi(client, {
        ...{ url, signal, secret, isIdempotent: false, now: deps.now, read: answerOf },
        ...{ faults, address: to.chatId },
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ chat_id: numericId(to.chatId), text }),
      });
    },
    close() {
      client.close();
      return Promise.resolve();
    },
  };
}

/** Ids of chats are numbers of up to 52 bits; `@name` stays a text. */
function numericId(chatId: string): number | string {
  const number = Number(chatId);
  return Number.isSafeInteger(number) && String(number) === chatId ? number : chatId;
}

/** `{ok, result: {message_id}}` or `{ok, error_code, description, parameters: {retry_after}}` */
function answerOf(json: JsonObject, httpStatus: number): ProviderAnswer | undefined {
  if (json['ok'] === true) {
    const id = jsonObject(json['result'])?.['message_id'];
    return { kind: 'accepted', providerMessageId: typeof id === 'number' ? String(id) : '' };
  }
  if (json['ok'] !== false) return undefined;
  const code = typeof json['error_code'] === 'number' ? json['error_code'] : httpStatus;
  const description = typeof json['description'] === 'string' ? json['description'] : '';
  const detail = `${code} ${description}`;
  const seconds = jsonObject(json['parameters'])?.['retry_after'];
  if (typeof seconds === 'number' && seconds >= 0)
    return {
      kind: 'retry',
      reason: 'rate_limited',
      detail,
      afterMs: Math.min(seconds * 1000, MAX_AFTER_MS),
    };
  if (DEAD_CHAT.test(description)) return { kind: 'dead_address', reason: 'chat_closed', detail };
  // A token that the API does not know, or a chat in words that are not known here.
  if (code === 404) return { kind: 'broken', reason: UNCLEAR, detail };
  // Of one chat: the bot itself is known.
  if (code === 403 || code < 400)
    return { kind: 'rejected', reason: 'rejected_by_provider', detail };
  return answerOfStatus({ status: code, detail }, { isIdempotent: false });
}
