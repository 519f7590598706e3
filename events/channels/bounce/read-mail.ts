import PostalMime from 'postal-mime';

/** A mail as far as a report is in it. */
export interface Mail {
  /** The first field of a name (lower case), unfolded; empty when there is none. */
  header: (name: string) => string;
  /** The words for people, without the message that came back as a part of its own. */
  text: string;
  /** The other parts, a returned message included, as text. */
  parts: readonly { type: string; content: string }[];
}

/**
 * What is read of a mail. A report is in its first parts and lines; the message that came back is
 * behind it. The parser takes some 10 µs a line and 4 µs a padding in base64, so 1 MiB of them
 * would take seconds; with these bounds the worst mail takes 60 ms.
 */
const MAX_BYTES = 256 * 1024;
const MAX_LINES = 2000;
const MAX_PADDINGS = 8000;
const LIMITS = {
  maxNestingDepth: 16,
  maxHeadersSize: 32 * 1024,
  // The returned message is evidence: nothing in it is parsed.
  forceRfc822Attachments: true,
  maxRfc822NestingDepth: 0,
  attachmentEncoding: 'utf8',
} as const;

const FIELD_NAME = /^[!-9;-~]+$/;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const PADDING = 0x3d;

/** Undefined for bytes that are no mail, or one with more parts or headers than any report has. */
export async function readMail(raw: Buffer): Promise<Mail | undefined> {
  const email = await PostalMime.parse(beginning(raw), LIMITS).catch(() => undefined);
  if (!email?.headers.some(({ key }) => FIELD_NAME.test(key))) return undefined;
  const headers = new Map(email.headers.toReversed().map(({ key, value }) => [key, value]));
  // The parser has decoded it.
  headers.set('subject', email.subject ?? '');
  return {
    header: (name) => headers.get(name) ?? '',
    text: email.text ?? withoutTags(email.html ?? ''),
    parts: email.attachments.map(({ mimeType, content }) => ({
      type: mimeType,
      content: typeof content === 'string' ? content : '',
    })),
  };
}

/** The bytes that are parsed; some programs put empty lines in front. */
function beginning(raw: Buffer): Buffer {
  let start = 0;
  while (raw[start] === NEWLINE || raw[start] === RETURN) start++;
  const bytes = raw.subarray(start, start + MAX_BYTES);
  const end = endOf(bytes, { byte: NEWLINE, count: MAX_LINES });
  if (!/base64/i.test(bytes.toString('latin1'))) return bytes.subarray(0, end);
  return bytes.subarray(0, Math.min(end, endOf(bytes, { byte: PADDING, count: MAX_PADDINGS })));
}

/** Behind the last of so many bytes of a kind. */
function endOf(bytes: Buffer, { byte, count }: { byte: number; count: number }): number {
  let end = 0;
  for (let found = 0; found < count; found++) {
    const at = bytes.indexOf(byte, end);
    if (at < 0) return bytes.length;
    end = at + 1;
  }
  return end;
}

function withoutTags(html: string): string {
  return html
    .replace(/<(?:br|\/p|\/div|\/tr|\/li)[^<>]*>/gi, '\n')
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&nbsp;/g, ' ')
    .replace(/&amp;/g, '&');
}
