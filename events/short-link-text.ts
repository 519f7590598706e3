import { isShortLinkTarget, shortLinkCode } from './short-link.ts';

export interface MessageText {
  text: string;
  accountId: number;
  /** SHORT_LINK_BASE; empty: nothing is ever rewritten. */
  base: string;
  /** Whether the message goes out over a service line, where links stay as they are. */
  line: 'service' | 'advertising';
}

/**
 * A link of a message that would become shorter: store its mapping, then hand it to rewriteLinks.
 */
export interface LinkToShorten {
  /** Where it stands in the text, UTF-16 units: from `start` up to and without `end`. */
  start: number;
  end: number;
  target: string;
  code: string;
  /** What takes its place. */
  replacement: string;
}

/** ASCII of a link; quotes and brackets around it end it. */
const LINK_START = /https?:\/\//giu;
const ENDS_LINK = /[\s\p{Cc}<>"'`«»“”‘’،؛؟…\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const TRAILING = /[.,;:!?)\]}*_~-]$/;
/**
 * Behind these a letter that is not ASCII goes on with the address; behind anything else it is the
 * text that follows.
 */
const GOES_ON = /[/=&?#%+\-_.]/;
const WORD = /[\p{L}\p{N}]/u;

/**
 * The links of an SMS that are to be shortened (ingest 4.7): http and https only, only where the
 * result is shorter, nothing on a service line or without a base.
 */
export function linksToShorten({ text, accountId, base, line }: MessageText): LinkToShorten[] {
  if (base === '' || line === 'service') return [];
  const links: LinkToShorten[] = [];
  for (const { index: start } of text.matchAll(LINK_START)) {
    if (start < (links.at(-1)?.end ?? 0) || /[a-z0-9]/i.test(text.charAt(start - 1))) continue;
    const end = endOfLink(text, start);
    const target = text.slice(start, end);
    if (!isShortLinkTarget(target)) continue;
    const code = shortLinkCode(accountId, target);
    // A phone would take letters that follow at once as a part of the code.
    const replacement = `${base.replace(/\/+$/, '')}/s/${code}${WORD.test(text.charAt(end)) ? ' ' : ''}`;
    if (replacement.length < target.length) links.push({ start, end, target, code, replacement });
  }
  return links;
}

function endOfLink(text: string, start: number): number {
  let end = start;
  while (end < text.length) {
    const character = String.fromCodePoint(text.codePointAt(end) ?? 0);
    if (ENDS_LINK.test(character)) break;
    if (character > '\x7f' && text.charAt(end - 1) <= '\x7f' && !GOES_ON.test(text.charAt(end - 1)))
      break;
    end += character.length;
  }
  while (
    end > start &&
    TRAILING.test(text.slice(start, end)) &&
    !closesOwnBracket(text.slice(start, end))
  )
    end--;
  return end;
}

const BRACKETS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

/**
 * True when the link ends with a bracket that it opened itself, as addresses of encyclopedias do.
 */
function closesOwnBracket(link: string): boolean {
  const close = link.at(-1) ?? '';
  const open = BRACKETS[close];
  return open !== undefined && link.split(open).length >= link.split(close).length;
}

/**
 * The text with those links shortened whose mapping is stored; `links` are those of linksToShorten
 * for the same text.
 */
export function rewriteLinks(message: {
  text: string;
  links: readonly LinkToShorten[];
  isStored: (link: LinkToShorten) => boolean;
}): string {
  const { text, links, isStored } = message;
  let out = '';
  let at = 0;
  for (const link of links) {
    if (!isStored(link)) continue;
    out += text.slice(at, link.start) + link.replacement;
    at = link.end;
  }
  return out + text.slice(at);
}
