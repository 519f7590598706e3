import type { IncomingMessage } from 'node:http';
import { readBody, type BodyBudget } from '../http/body.ts';
import { TOO_LARGE, UNREADABLE, type TextAnswer } from '../tracking/text-answer.ts';
import { UNAVAILABLE_PAGE } from './failure-pages.ts';

/** Bytes of a form, as sent and as decoded. */
const MAX_FORM_BYTES = 64 * 1024;

/** Ours have 17 at most. 64 KiB can hold thousands, which take 100 ms to parse. */
const MAX_FIELDS = 100;

/** The fields of a form that are text; those of a body that is no form are none. */
export type FormFields = ReadonlyMap<string, readonly string[]>;

/**
 * Reads a form as browsers and mail providers send it: urlencoded, or multipart/form-data (RFC 8058
 * allows both). Returns the answer when there is no body, and undefined when the client has left.
 */
export async function readForm(
  request: IncomingMessage,
  { budget, accountId }: { budget: BodyBudget; accountId: number },
): Promise<{ fields: FormFields } | { answer: TextAnswer | undefined }> {
  const body = await readBody(request, { limit: MAX_FORM_BYTES, budget, accountId });
  switch (body) {
    case 'too_large':
      return { answer: TOO_LARGE };
    case 'undecodable':
      return { answer: UNREADABLE };
    case 'overloaded':
      return { answer: UNAVAILABLE_PAGE };
    case 'client_gone':
      return { answer: undefined };
    default:
      try {
        return { fields: parseForm(body, contentType(request)) };
      } finally {
        budget.release(accountId, body.length);
      }
  }
}

/** The header as sent: the host has replaced that of `headers` (http/host.ts). */
function contentType({ rawHeaders }: IncomingMessage): string {
  const at = rawHeaders.findIndex(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'content-type',
  );
  return at < 0 ? '' : (rawHeaders[at + 1] ?? '');
}

function parseForm(body: Buffer, type: string): FormFields {
  const isMultipart = /^\s*multipart\/form-data\s*;/i.test(type);
  const text = body.toString();
  const pieces = text.split(isMultipart ? /form-data/i : '&', MAX_FIELDS + 2);
  if (pieces.length > MAX_FIELDS + 1) return new Map();
  return grouped(isMultipart ? multipartFields(text, type) : new URLSearchParams(text));
}

/** The parts that are fields (RFC 7578); node's own parser is not meant for servers. */
function multipartFields(text: string, type: string): [name: string, value: string][] {
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s";]{1,70}))/i.exec(type)?.slice(1).join('');
  if (boundary === undefined) return [];
  const [, ...parts] = `\n${text.replaceAll('\r\n', '\n')}`.split(`\n--${boundary}`);
  return parts.flatMap((part) => {
    const end = part.indexOf('\n\n');
    const name = /^content-disposition:[^\n]{1,200}?;\s*name="?([^";\n]{0,200})/im.exec(
      part.slice(0, Math.max(end, 0)),
    )?.[1];
    return name === undefined ? [] : [[name, part.slice(end + 2)]];
  });
}

function grouped(entries: Iterable<readonly [name: string, value: string]>): FormFields {
  const fields = new Map<string, string[]>();
  for (const [name, value] of entries) {
    const known = fields.get(name);
    if (known) known.push(value);
    else fields.set(name, [value]);
  }
  return fields;
}
