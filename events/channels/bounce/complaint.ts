import { bareAddress, fieldBlocks, reportedAddress } from './report-fields.ts';
import type { Mail } from './read-mail.ts';

/** Somebody's feedback about a message (RFC 5965). */
export interface Feedback {
  /** `abuse`, `not-spam` and others, in lower case. */
  type: string;
  /** Who gave it, where the provider says so; in lower case. */
  addresses: readonly string[];
}

/** Types that report no complaint of a person: `not-spam` is the opposite of one (RFC 6430). */
const NO_COMPLAINT = new Set(['not-spam', 'auth-failure', 'virus']);

export function isComplaint({ type }: Feedback): boolean {
  return !NO_COMPLAINT.has(type);
}

/** The feedback in a mail; undefined when there is none. */
export function feedbackOf(mail: Mail): Feedback | undefined {
  const part = mail.parts.find(({ type }) => type === 'message/feedback-report');
  return part ? feedbackReport(part.content) : forwardedComplaint(mail);
}

function feedbackReport(content: string): Feedback {
  const [fields] = fieldBlocks(content);
  const named = ['original-rcpt-to', 'removal-recipient'].map((name) =>
    reportedAddress(fields?.get(name)),
  );
  return {
    type: (fields?.get('feedback-type') ?? 'abuse').toLowerCase(),
    addresses: named.filter((address) => address.includes('@') && !isRedacted(address)),
  };
}

/** Microsoft's feedback loop forwards the message with a field that names the recipient. */
function forwardedComplaint({ header, parts }: Mail): Feedback | undefined {
  if (!/@(?:hotmail|outlook|microsoft)\.com\b/i.test(header('from'))) return undefined;
  for (const { type, content } of parts) {
    const field = /^X-HmXmrOriginalRecipient:(.*)$/im.exec(content)?.[1];
    if (type === 'message/rfc822' && field !== undefined)
      return { type: 'abuse', addresses: [bareAddress(field)] };
  }
  return undefined;
}

/** Some providers hide who complained: the address that the report came to says it. */
function isRedacted(address: string): boolean {
  return /redacted|removed|hidden|xxxx|\*\*|^[0-9a-f]{32,}@/.test(address);
}
