import type { SMTPConnectionOptions, SMTPEnvelope } from 'nodemailer/lib/smtp-connection';
import { truncateBytes } from '../../../events/bytes.ts';
import { connectGuarded } from '../../../platform/outbound/guarded-socket.ts';
import { messageFaults } from '../api-answer.ts';
import { detailWithout } from '../detail.ts';
import type { Opening } from '../opening.ts';
import type { Provider, ProviderAnswer, ProviderMessage } from '../provider.ts';
import { wrongTarget } from '../unsendable.ts';
import { classify } from './classify.ts';
import { asciiAddress, parseSmtpSecret, type SmtpConfig } from './config.ts';
import { mailIdOf, mailOf } from './mail.ts';
import { SmtpPool } from './pool.ts';
import { failureOf, SmtpSession, type SmtpResult } from './session.ts';
import { dkimSigner } from './signer.ts';

/** Submission and relay; hosts that the operator allows have any port. */
const PORTS: ReadonlySet<number> = new Set([25, 465, 587, 2525]);
const CONNECT_MS = 15_000;
const POOL = { connections: 50, waiting: 1000, messagesPerConnection: 100, idleMs: 20_000 };

/** E-mail over SMTP. The secret: parseSmtpSecret. Throws an Error with a sentence. */
export function openSmtp(config: SmtpConfig, { channel, secret, deps }: Opening): Provider {
  const { password, dkim } = parseSmtpSecret(secret, config.from);
  if (config.username !== '' && password === '')
    throw new Error('smtp: a username needs a password as the secret');
  const sign = dkim && dkimSigner(dkim);
  const pool = new SmtpPool({ ...POOL, open: sessionOpener(config, password, deps.guard) });
  const faults = messageFaults();
  const compose = async (message: ProviderMessage, to: string) => {
    const mail = mailOf({
      ...{ messageId: message.messageId, from: config.from, replyTo: config.replyTo, to },
      ...{ subject: message.content.subject, text: message.content.text },
      ...{ html: message.content.html, at: deps.now() },
      unsubscribeUrl: message.email?.unsubscribeUrl,
    });
    return sign ? await sign(mail) : mail;
  };
  return {
    channel,
    name: 'smtp',
    isIdempotent: false,
    async send(message, { signal }) {
      if (message.to.kind !== 'email') return wrongTarget('smtp', message.to);
      const to = asciiAddress(message.to.address);
      if (to === undefined)
        return { kind: 'dead_address', reason: 'invalid_address', detail: 'not an e-mail address' };
      const mail = await compose(message, to).catch(() => undefined);
      if (!mail)
        return { kind: 'rejected', reason: 'rejected_by_provider', detail: 'it cannot be signed' };
      const envelope = envelopeOf(message, { config, to, size: mail.length });
      const answer = answerOf(await submit(pool, envelope, mail, signal), password);
      if (answer.kind === 'accepted') faults.accepted();
      const isUnclear = answer.kind === 'broken' && answer.reason === 'relay_denied';
      return isUnclear ? faults.refused(to, answer.detail) : answer;
    },
    close() {
      pool.close();
      return Promise.resolve();
    },
  };
}

/**
 * A server may have closed a used connection before it reads the message: it is sent again over a
 * new one when certainly nothing was handed over. Never rejects.
 */
async function submit(
  pool: SmtpPool,
  envelope: SMTPEnvelope,
  mail: Buffer,
  signal: AbortSignal,
): Promise<SmtpResult> {
  const send = (mayBeStale: boolean) =>
    pool.run(signal, async (session, isUsed) => {
      const result = await session.send({ ...envelope }, mail, signal);
      const isStale = isUsed && result.kind === 'failed' && isConnectionLost(result);
      return isStale && mayBeStale && !signal.aborted ? 'stale' : result;
    });
  try {
    for (let attempt = 0; ; attempt++) {
      const result = await send(attempt < POOL.connections);
      if (result === undefined) return failureOf(new Error('no connection was free'), false);
      if (result !== 'stale') return result;
    }
  } catch (error) {
    return failureOf(error, false);
  }
}

function isConnectionLost({ response, isHandedOver }: SmtpResult & { kind: 'failed' }): boolean {
  return !isHandedOver && (response === '' || response.startsWith('421'));
}

function answerOf(result: SmtpResult, password: string): ProviderAnswer {
  if (result.kind === 'sent')
    return { kind: 'accepted', providerMessageId: queueIdOf(result.response) };
  const answer = classify(result);
  return { ...answer, detail: detailWithout(password, answer.detail) };
}

/** What the server calls the message: `250 2.0.0 Ok: queued as 4F1K2X3Bz9`; empty if nothing. */
function queueIdOf(response: string): string {
  return truncateBytes(/(?:queued as|id[=:]?) ?([\w.-]{4,})/i.exec(response)?.[1] ?? '', 100);
}

function envelopeOf(
  { messageId, email }: ProviderMessage,
  { config, to, size }: { config: SmtpConfig; to: string; size: number },
): SMTPEnvelope {
  const hasBounces = config.bounceDomain !== '' && email !== undefined;
  return {
    from: hasBounces ? `${email.bounceLocal}@${config.bounceDomain}` : config.from.address,
    to,
    size,
    dsn: {
      envid: mailIdOf(messageId),
      ret: 'HDRS',
      notify: ['FAILURE', 'DELAY'],
      // Another type of address would be needed beyond ASCII.
      // eslint-disable-next-line no-control-regex -- all of ASCII
      ...(/^[\x00-\x7f]*$/.test(to) ? { orcpt: `rfc822;${to}` } : {}),
    },
  };
}

/**
 * A password is sent only over verified TLS, unless the operator allows the host, which is then
 * inside. Without a password TLS is used when the server offers it, whatever its certificate says,
 * as between mail servers.
 */
function sessionOpener(config: SmtpConfig, password: string, guard: Opening['deps']['guard']) {
  const { host, port, secure, username } = config;
  const isInside = guard.allowed.allows(host.toLowerCase(), port);
  const isVerified = username !== '' && !isInside;
  const options: SMTPConnectionOptions = {
    ...{ host, port, secure },
    ...(isVerified ? { requireTLS: !secure } : { opportunisticTLS: true }),
    tls: { rejectUnauthorized: isVerified || (secure && !isInside) },
  };
  const login = username === '' ? undefined : { user: username, pass: password };
  return async (signal: AbortSignal): Promise<SmtpSession> => {
    const allowsPort = (one: number) => PORTS.has(one);
    const connection = await connectGuarded({
      ...{ host, port, allowsPort, guard, timeout: CONNECT_MS, signal },
    });
    return await SmtpSession.open({ ...options, connection }, login);
  };
}
