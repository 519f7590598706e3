import { isAutoReply } from './auto-reply.ts';
import { bounceText } from './bounce-text.ts';
import { classifyFailure } from './classify-failure.ts';
import { feedbackOf, isComplaint } from './complaint.ts';
import { deliveryStatus, type RecipientReport } from './delivery-status.ts';
import { readMail, type Mail } from './read-mail.ts';

/** What a mail to a bounce address means for the address of our recipient. */
export interface Bounce {
  /** `hard` and `complaint` suppress, `soft` counts, the others change nothing. */
  kind: 'hard' | 'soft' | 'complaint' | 'auto_reply' | 'none';
  /** An enhanced status code, a type of feedback, or why nothing changes; never an address. */
  reason: string;
}

/**
 * Reads a mail that came to a bounce address (docs/channels.md, Bounces). The address says which
 * message it is about; the report says what happened, and counts for our recipient only. Undefined
 * for bytes that are no mail.
 * @param address of our recipient
 */
export async function readBounce(raw: Buffer, address: string): Promise<Bounce | undefined> {
  const mail = await readMail(raw);
  if (!mail) return undefined;
  const own = address.trim().toLowerCase();
  const feedback = feedbackOf(mail);
  if (feedback) {
    const { type, addresses } = feedback;
    if (!isComplaint(feedback)) return { kind: 'none', reason: type };
    return isAbout(addresses, own) ? { kind: 'complaint', reason: type } : OTHER_RECIPIENT;
  }
  const reports = deliveryStatus(mail);
  if (reports.length > 0) return ofReports(reports, own, mail);
  const words = bounceText(mail, own);
  if (words) return ofReports([words], own, mail);
  const isReply = isAutoReply(mail);
  return isReply ? { kind: 'auto_reply', reason: 'auto_reply' } : NO_REPORT;
}

const OTHER_RECIPIENT: Bounce = { kind: 'none', reason: 'other_recipient' };
const NO_REPORT: Bounce = { kind: 'none', reason: 'no_report' };

function ofReports(reports: readonly RecipientReport[], own: string, mail: Mail): Bounce {
  const about = reports.filter(({ addresses }) => isAbout(addresses, own));
  if (about.length === 0) return OTHER_RECIPIENT;
  const failed = about.find(({ action }) => action === 'failed');
  if (!failed) return { kind: 'none', reason: about[0]?.action ?? '' };
  const { status, text } = failed;
  const kind = classifyFailure({ status, text: text || mail.text.slice(0, 2000) });
  return { kind, reason: status || 'no_status' };
}

/** A report that names nobody is about the recipient whose bounce address it came to. */
function isAbout(addresses: readonly string[], own: string): boolean {
  return addresses.length === 0 || addresses.includes(own);
}
