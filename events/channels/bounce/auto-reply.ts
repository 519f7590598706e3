import type { Mail } from './read-mail.ts';

const FIELDS = ['x-autoreply', 'x-autorespond', 'x-autoresponder', 'x-auto-reply', 'x-vacation'];
const SUBJECT =
  /^(?:(?:re|fwd?|پاسخ)\s*:\s*)*(?:auto(?:matic(?:ally)?)?[- ]?(?:reply|response|responder|generated)|out of (?:the )?office|vacation|on (?:leave|vacation|holiday)|away from|پاسخ خودکار|پاسخ‌گویی خودکار|خارج از دفتر|در مرخصی|automatische antwort|abwesenheit|réponse automatique|respuesta automática)/i;

/** Whether a program answered for a person: an absence, a receipt, a ticket (RFC 3834). */
export function isAutoReply({ header, parts }: Mail): boolean {
  return (
    /^auto-/i.test(header('auto-submitted')) ||
    /^auto.?reply/i.test(header('precedence')) ||
    FIELDS.some((name) => header(name) !== '') ||
    SUBJECT.test(header('subject').trim()) ||
    parts.some(({ type }) => type === 'message/disposition-notification')
  );
}
