import { statusIn } from './classify-failure.ts';
import type { RecipientReport } from './delivery-status.ts';
import type { Mail } from './read-mail.ts';
import { bareAddress } from './report-fields.ts';

/** Characters of a text that are searched. */
const MAX_TEXT = 32 * 1024;
/** Characters that are about one recipient. */
const MAX_EXCERPT = 2000;

const DAEMON = /mailer.?daemon/i;
const SYSTEM_SENDER =
  /mailer.?daemon|mdaemon|postmaster|mail ?delivery|(?:mail|system) ?administrator|maildeliverysystem|delivery.?(?:status|notification|subsystem)|non.?delivery|ndrgenerator/i;
const BOUNCE_SUBJECT =
  /undeliver|returned mail|failure notice|delivery (?:status|failure|failed|notification|problem|report)|mail (?:delivery )?fail|failed mail|delivery has failed|(?:could ?n[o']t|cannot|not) (?:be )?delivered|user unknown|non.?remis|unzustellbar|message you sent (?:blocked|bounced)/i;
/** First lines of systems that write no report for programs. */
const BOUNCE_TEXT =
  /this is the qmail-send program|created automatically by mail delivery software|mail[^]{0,300}? (?:did(?: not|n't) reach|(?:was(?: not|n't)|(?:could|can) ?n[o']t be) delivered)|message[^]{0,300}? (?:did(?: not|n't) reach|(?:was(?: not|n't)|(?:could|can) ?n[o']t be) delivered)|delivery to the following recipients? (?:has )?failed|(?:could not|unable to|wasn't able to|not able to) deliver|did not receive (?:your|this|a copy)|permanent fatal errors|failed (?:recipients|addresses)|automatically rejected|undeliverable/i;
const GOES_ON =
  /will be retried|still (?:being )?(?:trying|tried|retried)|will (?:continue|keep) (?:to )?try|(?:has )?not (?:yet )?been delivered yet|not yet been delivered|has been delayed|delivery (?:is )?(?:delayed|temporarily suspended)|warning message only|(?:do not|don't) need to resend/i;
/** What follows is the message that came back: it names our recipient, too. */
const RETURNED =
  /^.{0,20}(?:original message (?:follows|headers)|unsent message follows|message header follows|below this line is (?:a copy|the)|this is a copy of the message|included is a copy|a copy of the message|original message -{3,}|start of returned message|message from you follows).*$/im;
const ADDRESS = /[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g;
/** A line that lists a recipient: an address alone, or in front of a colon. */
const LISTED = /^[ \t>*]{0,20}<?([^\s<>:,;"]{1,64}@[\w.-]{1,255})>?[ \t]*(?::.*|on .*)?$/gm;

/**
 * What a bounce says that is written for people only (docs/channels.md, Bounces): those of qmail,
 * Exim, old Exchange, Domino and others. Undefined for a mail that is no bounce.
 * @param own the address of our recipient, in lower case
 */
export function bounceText(mail: Mail, own: string): RecipientReport | undefined {
  const whole = mail.text.slice(0, MAX_TEXT).replaceAll('\r\n', '\n');
  const text = whole.slice(0, RETURNED.exec(whole)?.index ?? whole.length);
  const subject = mail.header('subject');
  const isBounce =
    mail.header('x-failed-recipients') !== '' ||
    BOUNCE_TEXT.test(text) ||
    (SYSTEM_SENDER.test(mail.header('from')) && BOUNCE_SUBJECT.test(subject)) ||
    (DAEMON.test(mail.header('from')) && own !== '' && text.toLowerCase().includes(own));
  if (!isBounce) return undefined;
  const goesOn = GOES_ON.test(text) || GOES_ON.test(subject);
  const excerpt = excerptAbout(own, text);
  const status = statusIn(excerpt);
  return {
    addresses: named(mail, text, own),
    action: goesOn ? 'delayed' : 'failed',
    // A success in the text of a bounce is the version of some program.
    status: status.startsWith('2') ? '' : status,
    text: excerpt,
  };
}

/** Who is named as a recipient; empty when nobody is, and the report is about ours. */
function named(mail: Mail, text: string, own: string): string[] {
  const listed = [...text.matchAll(LISTED)].map(([, address = '']) => bareAddress(address));
  const failed = mail.header('x-failed-recipients').split(',').map(bareAddress);
  const mentioned = [...text.matchAll(ADDRESS)].some(([address]) => address.toLowerCase() === own);
  const all = [...listed, ...failed, ...(mentioned ? [own] : [])];
  return all.filter((address) => address.includes('@') && !SYSTEM_SENDER.test(address));
}

/** From the line of our recipient's address to the next one that is listed, or the whole text. */
function excerptAbout(own: string, text: string): string {
  const at = own === '' ? -1 : text.toLowerCase().indexOf(own);
  if (at < 0) return text.slice(0, 2 * MAX_EXCERPT);
  const start = Math.max(text.lastIndexOf('\n', at) + 1, at - MAX_EXCERPT);
  const rest = text.slice(start, at + MAX_EXCERPT);
  const next = [...rest.matchAll(LISTED)].find(
    ([, address = ''], index) => index > 0 && bareAddress(address) !== own,
  );
  return rest.slice(0, next?.index ?? rest.length);
}
