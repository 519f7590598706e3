import { classifyFailure, statusIn } from '../../../events/channels/bounce/classify-failure.ts';
import type { ProviderAnswer } from '../provider.ts';

/** How an attempt failed, as nodemailer's SMTPConnection and the guard report it. */
export interface SmtpFailure {
  /** The last line of the server; empty when there was none. */
  response: string;
  /** Nodemailer's code, for example EAUTH or ETLS; empty for other errors. */
  code: string;
  /** The command that failed: CONN, EHLO, AUTH PLAIN, MAIL FROM, RCPT TO, DATA, API. */
  command: string;
  message: string;
  /** By the address guard. */
  isRefused: boolean;
  /** The content was being sent, so the server may have the whole message. */
  isHandedOver: boolean;
}

type Refusal = Exclude<ProviderAnswer, { kind: 'accepted' }>;

/** What node:tls says of a certificate that it does not accept. */
const IS_CERTIFICATE = /certificate|altnames/i;
const NEEDS_LOGIN = /relay|authenticat|log ?in/i;

/** What a failed attempt means. The order of the questions is the meaning. */
export function classify(failure: SmtpFailure): Refusal {
  const { response, code, command, message } = failure;
  const detail = response === '' ? message : response;
  const reply = Number(/^\d{3}(?=[ -]|$)/.exec(response)?.[0] ?? 0);
  if (failure.isRefused) return { kind: 'broken', reason: 'address_refused', detail };
  if (failure.isHandedOver && reply < 400) return { kind: 'unknown', reason: 'no_answer', detail };
  if (reply >= 400 && reply < 500) return { kind: 'retry', reason: 'deferred', detail };
  if (code === 'EAUTH') return { kind: 'broken', reason: 'credentials', detail };
  if (reply === 0 && IS_CERTIFICATE.test(message)) return { kind: 'broken', reason: 'tls', detail };
  if (code === 'ETLS' && reply >= 500) return { kind: 'broken', reason: 'tls', detail };
  if (reply < 500 || reply === 503) {
    // The only error without a reply that concerns one message: it exceeds the server's SIZE.
    return code === 'EMESSAGE' && command === 'MAIL FROM'
      ? { kind: 'rejected', reason: 'too_large', detail }
      : { kind: 'retry', reason: 'unreachable', detail };
  }
  return refusalOf(reply, command, detail);
}

/** A reply 5xx. */
function refusalOf(reply: number, command: string, detail: string): Refusal {
  const status = statusIn(detail);
  // Servers greet so who they do not want to talk to now.
  if (command === 'CONN' || command === 'EHLO' || command === 'HELO')
    return { kind: 'retry', reason: 'unreachable', detail };
  if (status === '5.3.4' || (reply === 552 && !status.startsWith('5.2')))
    return { kind: 'rejected', reason: 'too_large', detail };
  if (reply === 530 && command !== 'RCPT TO')
    return { kind: 'broken', reason: 'credentials', detail };
  // Before the recipient is known: it concerns every message of the sender.
  if (command === 'MAIL FROM') return { kind: 'broken', reason: 'sender_refused', detail };
  if (status === '5.2.2') return { kind: 'retry', reason: 'mailbox_full', detail };
  if (classifyFailure({ status, text: detail }) === 'hard')
    return { kind: 'dead_address', reason: `hard_bounce ${status}`.trim(), detail };
  // A server that asks the recipient's server repeats its words, so these may be anybody's.
  if (
    command === 'RCPT TO' &&
    NEEDS_LOGIN.test(detail) &&
    (reply === 530 || status.startsWith('5.7'))
  )
    return { kind: 'broken', reason: 'relay_denied', detail };
  return { kind: 'rejected', reason: 'rejected_by_provider', detail };
}
