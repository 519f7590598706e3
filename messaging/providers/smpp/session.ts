import type { Socket } from 'node:net';
import { Session, type Pdu, type PduFields } from 'smpp';
import { onAbort } from '../../../platform/on-abort.ts';

/** Until a message centre answers, ms. */
const RESPONSE_MS = 30_000;
/** Without traffic: whether the other side is there, ms. */
const ENQUIRE_MS = 30_000;
/** Without messages the session ends: message centres allow few of them, ms. */
const IDLE_MS = 60_000;

/** What a request came to. `lost`: it was written, and is not answered. */
export type SmppResult =
  | { kind: 'answered'; status: number; messageId: string }
  | { kind: 'not_sent' }
  | { kind: 'lost'; message: string };

/** A bind was refused with a status. */
export class BindRefused extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`command_status 0x${status.toString(16)}`);
    this.name = 'BindRefused';
    this.status = status;
  }
}

/** A bound session with a message centre. Ends itself when the other side is gone, or idle. */
export class SmppSession {
  readonly #session: Session;
  readonly #pending = new Set<(result: SmppResult) => void>();
  readonly #enquire: NodeJS.Timeout;
  readonly #idle: NodeJS.Timeout;
  /** Takes messages. */
  #isOpen = true;
  #hasEnded = false;

  private constructor(socket: Socket) {
    this.#session = new Session({ socket });
    this.#session.on('error', (error: Error) => this.#end(error.message));
    this.#session.on('close', () => this.#end('the connection was closed'));
    // Each may come at any time, also before the response to the message that it is about.
    for (const command of ['deliver_sm', 'data_sm', 'enquire_link'])
      this.#session.on(command, (pdu: Pdu) => this.#session.send(pdu.response()));
    this.#session.on('unbind', (pdu: Pdu) => {
      this.#session.send(pdu.response());
      this.#end('the message centre ended the session');
    });
    this.#enquire = setInterval(() => void this.#isThere(), ENQUIRE_MS);
    this.#idle = setTimeout(() => this.close(), IDLE_MS);
    for (const timer of [this.#enquire, this.#idle]) timer.unref();
  }

  /** Rejects with BindRefused, or an Error when the session ends before. */
  static async bind(
    socket: Socket,
    { systemId, password }: { systemId: string; password: string },
  ): Promise<SmppSession> {
    const session = new SmppSession(socket);
    const fields = { system_id: systemId, password, interface_version: 0x34 };
    const result = await session.#request('bind_transceiver', fields);
    if (result.kind === 'answered' && result.status === 0) return session;
    session.#end('not bound');
    if (result.kind === 'answered') throw new BindRefused(result.status);
    throw new Error(result.kind === 'lost' ? result.message : 'the connection was closed');
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Never rejects. After a message without an answer the session takes no others. */
  async submit(fields: PduFields, signal: AbortSignal): Promise<SmppResult> {
    this.#idle.refresh();
    const result = await this.#request('submit_sm', fields, signal);
    if (result.kind === 'lost') this.#isOpen = false;
    if (!this.#isOpen && this.#pending.size === 0) this.close();
    return result;
  }

  /** Says unbind and does not wait. */
  close(): void {
    if (this.#session.socket.writable) this.#session.unbind();
    this.#end('closed');
  }

  #request(
    command: 'bind_transceiver' | 'submit_sm' | 'enquire_link',
    fields: PduFields,
    signal?: AbortSignal,
  ): Promise<SmppResult> {
    return new Promise((resolve) => {
      const end = (result: SmppResult) => {
        clearTimeout(timer);
        stopListening?.();
        this.#pending.delete(end);
        resolve(result);
      };
      const aborted = () => end({ kind: 'lost', message: 'aborted' });
      const timer = setTimeout(
        () => end({ kind: 'lost', message: 'no answer in time' }),
        RESPONSE_MS,
      );
      this.#pending.add(end);
      const stopListening = signal && onAbort(signal, aborted);
      const isWritten =
        this.#session.socket.writable &&
        this.#session[command](fields, ({ command_status: status, message_id: messageId = '' }) =>
          end({ kind: 'answered', status, messageId }),
        );
      if (!isWritten) end({ kind: 'not_sent' });
    });
  }

  async #isThere(): Promise<void> {
    const result = await this.#request('enquire_link', {});
    if (result.kind !== 'answered') this.#end('the message centre does not answer');
  }

  #end(message: string): void {
    this.#isOpen = false;
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearInterval(this.#enquire);
    clearTimeout(this.#idle);
    for (const end of [...this.#pending]) end({ kind: 'lost', message });
    this.#session.socket.end();
    // What was written last, an unbind or a response, has a moment to leave.
    setTimeout(() => this.#session.destroy(), 1000).unref();
  }
}
