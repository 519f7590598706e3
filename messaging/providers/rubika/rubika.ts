import { truncateBytes } from '../../../events/bytes.ts';
import { jsonObject, type JsonObject } from '../../../events/json.ts';
import { backoffDelay, delay } from '../../../platform/backoff.ts';
import { ApiClient } from '../../../platform/outbound/api-client.ts';
import { callApi, messageFaults } from '../api-answer.ts';
import { chatText } from '../chat-text.ts';
import { ConfigFields } from '../config-fields.ts';
import type { Opening } from '../opening.ts';
import type { Provider, ProviderAnswer } from '../provider.ts';
import { wrongTarget } from '../unsendable.ts';

interface RubikaConfig {
  url: string;
}

/** What a status that is not OK means is not published: it is tried again, then it is final. */
const ATTEMPTS = 3;
const BACKOFF = { base: 500, cap: 2000, min: 200 };
/** Each status is logged once, and no more of them than this. */
const MAX_REPORTED = 20;
const UNDOCUMENTED = 'undocumented_status';

export function parseRubikaConfig(json: unknown): RubikaConfig {
  const fields = new ConfigFields('rubika', json, ['url']);
  return { url: fields.baseUrl('url', 'https://botapi.rubika.ir') };
}

/** A bot of Rubika (rubika.ir/botapi/methods). The secret is its token, which is in the path. */
export function openRubika(
  config: RubikaConfig,
  { channel, accountId, secret, deps }: Opening,
): Provider {
  const client = new ApiClient(deps.guard);
  const faults = messageFaults();
  const url = `${config.url}/v3/${encodeURIComponent(secret)}/sendMessage`;
  const reported = new Set<string>();
  const reportStatus = (status: string) => {
    if (reported.has(status) || reported.size === MAX_REPORTED) return;
    reported.add(status);
    deps.log.warn(
      { code: 'rubika_status', account_id: accountId, status: truncateBytes(status, 100) },
      'Rubika refuses messages with a status whose meaning is not published',
    );
  };
  const attempt = (chatId: string, text: string, signal: AbortSignal) =>
    callApi(client, {
      ...{ url, signal, secret, isIdempotent: false, now: deps.now, read: answerOf },
      ...{ faults, address: chatId },
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ chat_id: chatId, text }),
    });
  return {
    channel,
    name: 'rubika',
    isIdempotent: false,
    async send({ to, content }, { signal }) {
      if (to.kind !== 'chat') return wrongTarget('rubika', to);
      const text = chatText(content);
      for (let number = 0; ; number++) {
        const answer = await attempt(to.chatId, text, signal);
        if (answer.kind !== 'retry' || answer.reason !== UNDOCUMENTED) return answer;
        reportStatus(answer.detail.split(' ', 1)[0] ?? '');
        if (number + 1 === ATTEMPTS)
          return { ...answer, kind: 'rejected', reason: 'rejected_by_provider' };
        const wait = backoffDelay({ ...BACKOFF, attempt: number, random: deps.random() });
        const isAborted = await delay(wait, signal).then(
          () => false,
          () => true,
        );
        if (isAborted) return answer;
      }
    },
    close() {
      client.close();
      return Promise.resolve();
    },
  };
}

/** `{status: "OK", data: {message_id}}`, or another status, also with HTTP 200. */
function answerOf(json: JsonObject, httpStatus: number): ProviderAnswer | undefined {
  const { status } = json;
  if (typeof status !== 'string') return undefined;
  if (status === 'OK') {
    const id = jsonObject(json['data'])?.['message_id'];
    const providerMessageId = typeof id === 'string' || typeof id === 'number' ? String(id) : '';
    return { kind: 'accepted', providerMessageId };
  }
  if (httpStatus === 401 || httpStatus === 429 || httpStatus >= 500) return undefined;
  const message = typeof json['dev_message'] === 'string' ? json['dev_message'] : '';
  const detail = `${status} ${message}`;
  return /TOO|LIMIT/.test(status)
    ? { kind: 'retry', reason: 'rate_limited', detail }
    : { kind: 'retry', reason: UNDOCUMENTED, detail };
}
