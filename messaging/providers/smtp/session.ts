import { Readable, type Writable } from 'node:stream';
import SMTPConnection, {
  type SMTPConnectionOptions,
  type SMTPEnvelope,
} from 'nodemailer/lib/smtp-connection';
import { onAbort } from '../../../platform/on-abort.ts';
import { AddressRefused } from '../../../platform/outbound/guard.ts';
import type { SmtpFailure } from './classify.ts';

/** Until a command, the greeting, or the login is answered, ms. */
const COMMAND_MS = 60_000;
/**
 * Until the content is accepted, ms. RFC 5321 asks for 10 minutes: servers scan before they answer.
 * An answer that is not waited for leaves the outcome unknown.
 */
const CONTENT_MS = 300_000;

export type SmtpResult = { kind: 'sent'; response: string } | ({ kind: 'failed' } & SmtpFailure);

/** One connection to an SMTP server, logged in. Sends one message at a time. */
export class SmtpSession {
  readonly #connection: SMTPConnection;
  #isOpen = true;
  messages = 0;

  private constructor(connection: SMTPConnection) {
    this.#connection = connection;
    // An idle connection may end at any time.
    connection.on('error', () => (this.#isOpen = false));
    connection.on('end', () => (this.#isOpen = false));
  }

  /** Rejects with nodemailer's error. */
  static async open(
    options: SMTPConnectionOptions,
    login: { user: string; pass: string } | undefined,
  ): Promise<SmtpSession> {
    const connection = new SMTPConnection({
      ...{ connectionTimeout: COMMAND_MS, greetingTimeout: COMMAND_MS, socketTimeout: CONTENT_MS },
      ...options,
    });
    const session = new SmtpSession(connection);
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('no answer in time')), COMMAND_MS);
        const end = (error?: Error | null) => {
          clearTimeout(timer);
          if (error) reject(error);
          else resolve();
        };
        connection.once('error', end);
        connection.once('end', () => end(new Error('the server closed the connection')));
        connection.connect((error) => {
          if (error || !login || !connection.allowsAuth) return end(error);
          connection.login(login, end);
        });
      });
      return session;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#connection.destroyed;
  }

  /** Never rejects. After a failure without a reply the session is closed. */
  async send(envelope: SMTPEnvelope, mail: Buffer, signal: AbortSignal): Promise<SmtpResult> {
    this.messages++;
    const connection = this.#connection;
    let isHandedOver = false;
    const result = await new Promise<SmtpResult>((resolve) => {
      const end = (ended: SmtpResult) => {
        clearTimeout(timer);
        stopListening();
        resolve(ended);
      };
      const giveUp = (why: string) => {
        end(failureOf(new Error(why), isHandedOver));
        connection.close();
      };
      const late = () => giveUp('no answer in time');
      const abort = () => giveUp('aborted');
      let timer = setTimeout(late, COMMAND_MS);
      const content = new Readable();
      // Called when the server has accepted sender, recipient and DATA.
      content.pipe = (stream) => {
        isHandedOver = true;
        clearTimeout(timer);
        timer = setTimeout(late, CONTENT_MS);
        // The content and its end, which are written in this turn, are one system call.
        const socket = connection._socket as Writable;
        socket.cork();
        setImmediate(() => socket.uncork());
        stream.end(mail);
        return stream;
      };
      const stopListening = onAbort(signal, abort);
      connection.send(envelope, content, (error, info) =>
        end(error ? failureOf(error, isHandedOver) : { kind: 'sent', response: info.response }),
      );
    });
    if (result.kind === 'failed') await this.#recover(result);
    return result;
  }

  /** Ends the transaction of a refused message, so that the next one can begin. */
  async #recover({ response }: SmtpFailure): Promise<void> {
    if (response === '' || response.startsWith('421') || !this.isOpen) {
      this.close();
      return;
    }
    const connection = this.#connection;
    const isReset = await new Promise<boolean>((resolve) => {
      const end = (done: boolean) => {
        clearTimeout(timer);
        connection.off('end', ended);
        resolve(done);
      };
      const ended = () => end(false);
      const timer = setTimeout(ended, COMMAND_MS);
      connection.once('end', ended);
      connection.reset((error) => end(!error));
    });
    if (!isReset) this.close();
  }

  /** Says QUIT and does not wait. */
  quit(): void {
    if (this.isOpen) this.#connection.quit();
    this.#isOpen = false;
  }

  close(): void {
    this.#isOpen = false;
    this.#connection.close();
  }
}

/** An error of nodemailer, of the system or of the guard, as its parts. */
export function failureOf(error: unknown, isHandedOver: boolean): { kind: 'failed' } & SmtpFailure {
  const { code, command, response, message } = error as Partial<Record<string, unknown>>;
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return {
    kind: 'failed',
    response: text(response),
    code: text(code),
    command: text(command),
    message: text(message),
    isRefused: error instanceof AddressRefused,
    isHandedOver,
  };
}
