import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';
import type { Address } from '../../platform/setting-kinds.ts';
import { isDead, type SandboxMessage } from './receivers/receiver.ts';

const MAX_MAIL_BYTES = 5 * 2 ** 20;
const MAX_CLIENTS = 200;

/**
 * Takes mails from anybody on loopback, with any login or none. Recipients whose address begins
 * with `dead` do not exist.
 */
export async function startMailServer({
  address,
  onMail,
}: {
  address: Address;
  onMail: (message: SandboxMessage) => void;
}): Promise<{ address: Address; close: () => Promise<void> }> {
  const server = new SMTPServer({
    ...{ name: 'sandbox.localhost', banner: 'Ravand sandbox', logger: false, hideDSN: false },
    ...{ disabledCommands: ['STARTTLS'], authOptional: true, allowInsecureAuth: true },
    ...{ size: MAX_MAIL_BYTES, maxClients: MAX_CLIENTS, closeTimeout: 1000 },
    // Names of clients are not looked up.
    disableReverseLookup: true,
    onAuth: (_, __, done) => {
      done(null, { user: 'anybody' });
    },
    onRcptTo: ({ address: to }, _, done) => {
      const unknown = Object.assign(new Error('5.1.1 no such user here'), { responseCode: 550 });
      done(isDead(to.toLowerCase()) ? unknown : null);
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      let bytes = 0;
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= MAX_MAIL_BYTES) chunks.push(chunk);
      });
      // The envelope is emptied when `done` runs.
      const messages = toMessages(session);
      stream.on('end', () => {
        if (stream.sizeExceeded || bytes > MAX_MAIL_BYTES) {
          done(Object.assign(new Error('5.3.4 message too big'), { responseCode: 552 }));
          return;
        }
        void messages(Buffer.concat(chunks)).then(
          (received) => {
            received.forEach(onMail);
            done();
          },
          () => {
            done(Object.assign(new Error('5.6.0 the mail cannot be read'), { responseCode: 554 }));
          },
        );
      });
    },
  });
  // Of one connection: a client that went, or a command that cannot be read.
  server.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(address.port, address.host, () => resolve());
  });
  const { port } = server.server.address() as AddressInfo;
  return {
    address: { host: address.host, port },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}

/** One message of each recipient. */
function toMessages(session: SMTPServerSession): (mail: Buffer) => Promise<SandboxMessage[]> {
  const { mailFrom, rcptTo } = session.envelope;
  const envelope = { envelope_from: mailFrom === false ? '' : mailFrom.address };
  const recipients = rcptTo.map(({ address }) => address);
  return async (bytes) => {
    const mail = await PostalMime.parse(bytes);
    return recipients.map((to) => ({
      ...{ channel: 'email', provider: 'smtp', to, title: '' },
      ...{ subject: mail.subject ?? '', text: linesOf(mail.text), html: linesOf(mail.html) },
      ...{ data: envelope, headers: headersOf(mail) },
    }));
  };
}

/** Without what the way through SMTP does to lines. */
function linesOf(text = ''): string {
  return text.replaceAll('\r\n', '\n').replace(/\n$/, '');
}

/** By name in lower case; values of one name are joined by line breaks. */
function headersOf({ headers }: Email): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { key, value } of headers)
    found[key] = Object.hasOwn(found, key) ? `${found[key] ?? ''}\n${value}` : value;
  return found;
}
