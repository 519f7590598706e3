import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';

/** What the receiver does with a mail. */
export type MailFate =
  | 'accept'
  /** Refuses it for now: the mail is certainly not accepted. */
  | 'busy'
  /** Takes the mail, and the connection ends without an answer. */
  | 'accept_and_hang_up';

export interface Mail {
  /** Left side of Message-ID. */
  messageId: string;
  to: string;
  fate: MailFate;
  /** ms since the epoch */
  at: number;
}

const MAX_CLIENTS = 1000;

/** A mail server on loopback that records each mail that it was handed. */
export class MailReceiver {
  readonly mails: Mail[] = [];
  /** What becomes of the next mails. */
  fateOf: (to: string) => MailFate = () => 'accept';
  /** Time until an answer, ms. */
  latency = 0;
  /** The most mails that waited for their answer at a time. */
  mostOpen = 0;
  #open = 0;
  readonly #server: SMTPServer;
  /** By the port of the client. */
  readonly #sockets = new Map<number, Socket>();

  private constructor() {
    this.#server = new SMTPServer({
      ...{ logger: false, hideDSN: false, authOptional: true, closeTimeout: 100 },
      ...{ disabledCommands: ['STARTTLS', 'AUTH'], disableReverseLookup: true },
      maxClients: MAX_CLIENTS,
      onData: (stream, session, done) => {
        // The envelope is emptied when the callback runs.
        const [recipient] = session.envelope.rcptTo;
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const { fate } = this.#record(recipient?.address ?? '', Buffer.concat(chunks));
          void this.#answer(fate, {
            done,
            hangUp: () => this.#sockets.get(session.remotePort)?.destroy(),
          });
        });
      },
    });
    this.#server.server.on('connection', (socket: Socket) => {
      const { remotePort = 0 } = socket;
      this.#sockets.set(remotePort, socket);
      socket.once('close', () => this.#sockets.delete(remotePort));
    });
    // Of one connection: its client was killed.
    this.#server.on('error', () => undefined);
  }

  static async listen(): Promise<MailReceiver> {
    const receiver = new MailReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', () => resolve()));
    return receiver;
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port;
  }

  /** Mails that it took. */
  accepted(): Mail[] {
    return this.mails.filter(({ fate }) => fate !== 'busy');
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #record(to: string, bytes: Buffer): Mail {
    const [, messageId = ''] = /^Message-ID:\s*<([^@>]+)@/im.exec(bytes.toString('latin1')) ?? [];
    const mail = { messageId, to, fate: this.fateOf(to), at: Date.now() };
    this.mails.push(mail);
    return mail;
  }

  async #answer(
    fate: MailFate,
    { done, hangUp }: { done: (error?: Error) => void; hangUp: () => void },
  ): Promise<void> {
    this.mostOpen = Math.max(this.mostOpen, ++this.#open);
    if (this.latency > 0) await wait(this.latency);
    this.#open--;
    if (fate === 'accept_and_hang_up') hangUp();
    else if (fate === 'busy')
      done(Object.assign(new Error('4.3.2 try again later'), { responseCode: 451 }));
    else done();
  }
}
