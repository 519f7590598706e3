import { Agent, request as send, type IncomingMessage } from 'node:http';
import { readBytes } from '../../platform/http/read-body.ts';
import { isTraceparent, TRACE_HEADER, TRACEPARENT_HEADER } from '../../platform/http/trace.ts';
import type { Address } from '../../platform/setting-kinds.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { FORWARDED_FOR_HEADER, PANEL_HEADER } from '../http/behind-panel.ts';
import { cookieName, type CookieRules } from '../http/cookies.ts';

export interface ProxyOptions {
  control: Address;
  cookies: CookieRules;
  /** Proves to the control plane that the request is from the panel of its process. */
  panelSecret: string;
}

export interface Forwarded {
  method: string;
  /** From /v1/ on, with the query. */
  path: string;
  /** Of the session. */
  token: string;
  ip: string;
  trace: string;
  /** Of W3C Trace Context, as the client sent it. */
  traceparent: string | string[] | undefined;
  /** Undefined: the body is not read. */
  body: Buffer | undefined;
  /** Aborts when the client leaves. */
  signal: AbortSignal;
}

/** A longer answer becomes a 503; no route of the control plane comes near. */
const MAX_ANSWER_BYTES = 16 * 2 ** 20;
/** Longer than the longest handler: a report has 45 s (management 8.4). */
const TIMEOUT_MS = 50_000;
const FORWARDED_HEADERS = ['content-type', 'content-disposition', 'retry-after'] as const;

/** Forwards requests of a session to the control plane. Answers 503 when it is unavailable. */
export class ControlProxy {
  readonly #options: ProxyOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: TIMEOUT_MS });

  constructor(options: ProxyOptions) {
    this.#options = options;
  }

  async forward(forwarded: Forwarded): Promise<Answer> {
    try {
      const reply = await this.#send(forwarded);
      const body = await readBytes(reply, { limit: MAX_ANSWER_BYTES });
      if (typeof body === 'string') return refuse('unavailable');
      const headers = FORWARDED_HEADERS.flatMap((name) =>
        reply.headers[name] === undefined ? [] : [[name, reply.headers[name]] as const],
      );
      return answer(body.length === 0 ? undefined : body, {
        status: reply.statusCode ?? 503,
        headers: Object.fromEntries(headers),
      });
    } catch {
      return refuse('unavailable');
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send({ method, path, token, ip, body, ...sent }: Forwarded): Promise<IncomingMessage> {
    const { control, cookies, panelSecret } = this.#options;
    // No other header of the client is forwarded: no key, no forged address.
    const headers = {
      cookie: `${cookieName(cookies)}=${token}`,
      [PANEL_HEADER]: panelSecret,
      [FORWARDED_FOR_HEADER]: ip,
      [TRACE_HEADER]: sent.trace,
      ...traceContext(sent.traceparent),
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': body.length }),
    };
    return await new Promise((resolve, reject) => {
      const signal = AbortSignal.any([sent.signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const options = { ...control, method, path, headers, agent: this.#agent, signal };
      const outgoing = send(options, resolve);
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}

/** The panel is no span of its own: it passes on what it got, if that is valid. */
function traceContext(traceparent: Forwarded['traceparent']): Record<string, string> {
  return typeof traceparent === 'string' && isTraceparent(traceparent)
    ? { [TRACEPARENT_HEADER]: traceparent }
    : {};
}
