import type { Messenger } from '../../../events/channels/channel-change.ts';
import { isJsonObject, parseJson, type JsonObject } from '../../../events/json.ts';
import { isDead, jsonAnswer, type Receiver, type SandboxMessage } from './receiver.ts';

const MAX_CHARACTERS = 4096;
const FIRST_ID = 100;

/** A bot of Bale: `/bot{token}/sendMessage`. The list shows texts as people read them. */
export function baleReceiver(): Receiver {
  let lastId = FIRST_ID;
  const refusal = (code: number, description: string) =>
    jsonAnswer(code, { ok: false, error_code: code, description });
  return {
    handle({ method, path, body }) {
      if (method !== 'POST' || !/^\/bot[^/]+\/sendMessage$/.test(path))
        return refusal(404, 'Not Found');
      const { chatId, text } = fieldsOf(parseJson(body));
      if (chatId === '' || text === '') return refusal(400, 'Bad Request: text is empty');
      if (text.length > MAX_CHARACTERS) return refusal(400, 'Bad Request: message is too long');
      if (isDead(chatId)) return refusal(404, 'no such group or user');
      const message_id = ++lastId;
      const shown = text.replaceAll(/\\([*_[\]`\\])/g, '$1');
      return {
        ...jsonAnswer(200, { ok: true, result: { message_id } }),
        message: messageOf('bale', { chatId, text: shown }),
      };
    },
  };
}

/** Eitaa: people at `/api/app/sendMessage`, channels and groups at `/api/{token}/sendMessage`. */
export function eitaaReceiver(): Receiver {
  let lastId = FIRST_ID;
  return {
    handle({ method, path, body }) {
      const [, token] = /^\/api\/([^/]+)\/sendMessage$/.exec(path) ?? [];
      if (method !== 'POST' || token === undefined) return jsonAnswer(404, { ok: false });
      const form = Object.fromEntries(new URLSearchParams(body.toString()));
      const { chatId, text } = fieldsOf(token === 'app' ? parseJson(body) : form);
      if (chatId === '' || text === '' || isDead(chatId))
        return jsonAnswer(200, { ok: false, error_code: 400, description: 'chat_id is not valid' });
      return {
        ...jsonAnswer(200, { ok: true, result: { message_id: ++lastId } }),
        message: messageOf('eitaa', { chatId, text }),
      };
    },
  };
}

/** A bot of Rubika: `/v3/{token}/sendMessage`. */
export function rubikaReceiver(): Receiver {
  let lastId = FIRST_ID;
  return {
    handle({ method, path, body }) {
      if (method !== 'POST' || !/^\/v3\/[^/]+\/sendMessage$/.test(path))
        return jsonAnswer(404, { status: 'NOT_FOUND' });
      const { chatId, text } = fieldsOf(parseJson(body));
      if (chatId === '' || text === '' || isDead(chatId))
        return jsonAnswer(200, { status: 'INVALID_INPUT', dev_message: 'chat_id is not valid' });
      return {
        ...jsonAnswer(200, { status: 'OK', data: { message_id: String(++lastId) } }),
        message: messageOf('rubika', { chatId, text }),
      };
    },
  };
}

function fieldsOf(sent: unknown): { chatId: string; text: string } {
  const { chat_id: id, text } = isJsonObject(sent) ? sent : ({} as JsonObject);
  return {
    chatId: typeof id === 'string' || typeof id === 'number' ? String(id) : '',
    text: typeof text === 'string' ? text : '',
  };
}

function messageOf(
  channel: Messenger,
  { chatId, text }: { chatId: string; text: string },
): SandboxMessage {
  return {
    ...{ channel, provider: channel, to: chatId, subject: '', title: '', text, html: '' },
    ...{ data: {}, headers: {} },
  };
}
