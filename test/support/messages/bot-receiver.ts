import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What the receiver does with a message. */
export type BotFate =
  | 'accept'
  /** Answers that it is busy: the message is certainly not sent. */
  | 'busy'
  /** The chat is closed. */
  | 'closed'
  /** The message is sent, and the connection ends without an answer. */
  | 'accept_and_hang_up'
  /** The connection ends without an answer; the message is not sent. */
  | 'hang_up';

export interface BotCall {
  /** The text of the message, as sent. */
  text: string;
  chatId: string;
  fate: BotFate;
  /** ms since the epoch */
  at: number;
}

/** Stands for the API of Bale: keeps every call. A message may be sent to a chat many times. */
export class BotReceiver {
  readonly calls: BotCall[] = [];
  /** What becomes of the next calls. */
  fateOf: (text: string) => BotFate = () => 'accept';
  /** Time until an answer, ms. */
  latency = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(): Promise<BotReceiver> {
    const server = createServer();
    const receiver = new BotReceiver(server);
    server.on('request', (request, response) => void receiver.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** How often each text was sent to a person. */
  sentTexts(): Map<string, number> {
    const sent = this.calls.filter(
      ({ fate }) => fate === 'accept' || fate === 'accept_and_hang_up',
    );
    const counts = new Map<string, number>();
    for (const call of sent) counts.set(call.text, (counts.get(call.text) ?? 0) + 1);
    return counts;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request)) as { chat_id: string | number; text: string };
    const fate = this.fateOf(body.text);
    this.calls.push({ text: body.text, chatId: String(body.chat_id), fate, at: Date.now() });
    if (this.latency > 0) await new Promise((resolve) => setTimeout(resolve, this.latency));
    const [status, json] = ANSWERS[fate](this.calls.length) ?? [];
    if (status === undefined) {
      request.socket.destroy();
      return;
    }
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(json));
  }
}

type Answered = [status: number, json: object];

/** Undefined: the connection ends. */
const ANSWERS: Readonly<Record<BotFate, (id: number) => Answered | undefined>> = {
  accept: (id) => [200, { ok: true, result: { message_id: id } }],
  busy: () => [429, { ok: false, error_code: 429, description: 'Too Many Requests' }],
  closed: () => [403, { ok: false, error_code: 403, description: 'bot was blocked' }],
  accept_and_hang_up: () => undefined,
  hang_up: () => undefined,
};
