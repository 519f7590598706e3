import { retryDelay } from '../../shared/delivery.ts';
import { post, type Answer } from './post.ts';
import { RavandError, type Properties } from './types.ts';

export interface Message {
  userId: string;
  templateId: number;
  /**
   * 8 to 200 letters, digits, dots, dashes, underscores and colons. One message is sent for each
   * key: the same key for each try of the same message, for seven days.
   */
  idempotencyKey: string;
  channel: string;
  /** Default: transactional. */
  category?: 'transactional' | 'service';
  /** `vars.*` of the template. */
  vars?: Properties;
}

/** The answer of the management host: `sent` does not mean that it arrived. */
export interface MessageResult {
  messageId: string;
  status: 'sent' | 'skipped' | 'failed';
  channel: string;
  /** It is the result of an earlier request with this key. */
  replayed: boolean;
  /** Of `skipped` and `failed`. */
  reason?: string;
  reasonFa?: string;
}

export interface RavandMessagesOptions {
  managementKey: string;
  /** The management host. */
  host: string;
  /** For all tries of a message, ms; default 60000. */
  deadline?: number;
}

/** The host answers within 30 seconds (management 8.4). */
const TIMEOUT_MS = 35_000;

/** Sends transactional messages: once for each idempotency key, however often it is tried. */
export class RavandMessages {
  readonly #options: Required<RavandMessagesOptions>;

  /** @throws RavandError `configuration` */
  constructor(options: RavandMessagesOptions) {
    const { managementKey, host, deadline = 60_000 } = options;
    if (!managementKey) throw new RavandError('configuration', 'managementKey is missing');
    if (!URL.canParse(host)) throw new RavandError('configuration', `host is no address: ${host}`);
    this.#options = { managementKey, host: host.replace(/\/+$/, ''), deadline };
  }

  /**
   * Tries again after answers that say so, with the same key, until the deadline.
   * @throws RavandError `refused`: the request will never be accepted as it is; `unavailable`: it
   * was not sent; `timeout`: nobody knows whether it was sent: the same key answers it later
   */
  async send(message: Message): Promise<MessageResult> {
    const { managementKey: key, host, deadline } = this.#options;
    const until = Date.now() + deadline;
    const body = JSON.stringify({
      ...{ user_id: message.userId, template_id: message.templateId, channel: message.channel },
      ...{ idempotency_key: message.idempotencyKey, category: message.category },
      vars: message.vars,
    });
    let mayBeSent = false;
    for (let failures = 1; ; failures++) {
      const timeoutMs = Math.max(1, Math.min(TIMEOUT_MS, until - Date.now()));
      const answer = await post(`${host}/v1/messages`, body, { key, timeoutMs });
      const { status, retryAfter } = answer;
      if (status === 200) return resultOf(answer.body);
      if (isFinal(status)) throw errorOf('refused', answer);
      mayBeSent ||= !isUnsent(status);
      const delay = retryDelay(failures, retryAfter);
      if (Date.now() + delay > until) throw errorOf(mayBeSent ? 'timeout' : 'unavailable', answer);
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
}

/** 409: an earlier try with this key still runs; 429: later (management 7.6, 8.2). */
const isFinal = (status: number) =>
  status >= 400 && status < 500 && ![408, 409, 429].includes(status);

/** The host says so itself; an answer of a proxy does not. */
const isUnsent = (status: number) => status === 503 || status === 429;

function resultOf(body: Record<string, unknown>): MessageResult {
  const { message_id, status, channel, replayed, reason, reason_fa } = body;
  return {
    messageId: String(message_id),
    status: status as MessageResult['status'],
    channel: String(channel),
    replayed: replayed === true,
    ...(typeof reason === 'string' && { reason }),
    ...(typeof reason_fa === 'string' && { reasonFa: reason_fa }),
  };
}

function errorOf(code: 'refused' | 'unavailable' | 'timeout', answer: Answer): RavandError {
  const { status, cause } = answer;
  const what = status === 0 ? 'no answer' : textOf(answer.body) || `HTTP ${status}`;
  const advice = code === 'timeout' ? ': send it again with the same key' : '';
  return new RavandError(code, `${what}${advice}`, { cause, ...(status > 0 && { status }) });
}

/** The message of an error, in any of the forms of the management host. */
function textOf({ message, error }: Record<string, unknown>): string {
  const nested = typeof error === 'object' && error !== null ? error : {};
  const found = [message, error, (nested as { message?: unknown }).message];
  return found.find((one) => typeof one === 'string') ?? '';
}
