import { isShortLinkTarget, shortLinkCode } from './short-link.ts';

export interface MessageText {
  text: string;
  accountId: number;
  /** SHORT_LINK_BASE; empty: nothing is rewritten. */
  base: string;
  /** Messages over a service line keep their links. */
  line: 'service' | 'advertising';
}

/** A link that becomes shorter. Store its mapping, then pass it to rewriteLinks. */
export interface LinkToShorten {
  /** Range in the text, UTF-16 units, `end` exclusive. */
  start: number;
  end: number;
  target: string;
  code: string;
  /** The short link. */
  replacement: string;
}

/** ASCII of a link; quotes and brackets around it end it. */
const LINK_START = /https?:\/\//giu;
const ENDS_LINK = /[\s\p{Cc}<>"'`«»“”‘’،؛؟…\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const TRAILING = /[.,;:!?)\]}*_~-]$/;
/** After these, a non-ASCII letter continues the address; otherwise the text follows. */
const GOES_ON = /[/=&?#%+\-_.]/;
const WORD = /[\p{L}\p{N}]/u;

/**
 * The links of an SMS to shorten (ingest 4.7): http and https only, only where the result is
 * shorter, none on a service line or without a base. Not in use yet: the SMS channel will call it.
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
    // Phones would take a letter that follows at once as part of the code.
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

/** True when the link ends with a bracket that it opened itself, as in Wikipedia addresses. */
function closesOwnBracket(link: string): boolean {
  const close = link.at(-1) ?? '';
  const open = BRACKETS[close];
  return open !== undefined && link.split(open).length >= link.split(close).length;
}

/**
 * Replaces those links whose mapping is stored. `links` come from linksToShorten for the same text.
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
