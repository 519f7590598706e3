/** A link in a text: text.slice(start, end). */
export interface TextLink {
  start: number;
  /** Exclusive. */
  end: number;
  /** A word follows at once: phones take its characters as part of what ends the link. */
  isGlued: boolean;
}

/** ASCII of a link; quotes and brackets around it end it. */
const LINK_START = /https?:\/\//giu;
const ENDS_LINK = /[\s\p{Cc}<>"'`«»“”‘’،؛؟…\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const TRAILING = /[.,;:!?)\]}*_~-]/;
/** What is longer is no link of a message; this bounds the time that hostile text takes. */
const MAX_LINK = 8192;
/** After these, a non-ASCII character continues the address; otherwise the text follows. */
const GOES_ON = /[/=&?#%+\-_.]/;
const WORD = /[\p{L}\p{N}]/u;

/** The http and https links of a text, as phones find them, also where Persian follows at once. */
export function textLinks(text: string): TextLink[] {
  const links: TextLink[] = [];
  for (const { index: start } of text.matchAll(LINK_START)) {
    if (start < (links.at(-1)?.end ?? 0) || /[a-z0-9]/i.test(text.charAt(start - 1))) continue;
    const end = endOfLink(text, start);
    links.push({ start, end, isGlued: WORD.test(text.charAt(end)) });
  }
  return links;
}

function endOfLink(text: string, start: number): number {
  const most = Math.min(text.length, start + MAX_LINK);
  let end = start;
  while (end < most) {
    const character = String.fromCodePoint(text.codePointAt(end) ?? 0);
    if (ENDS_LINK.test(character)) break;
    if (character > '\x7f' && text.charAt(end - 1) <= '\x7f' && !GOES_ON.test(text.charAt(end - 1)))
      break;
    end += character.length;
  }
  return withoutTrailing(text, start, end);
}

const BRACKETS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

/** A bracket that the link opened itself belongs to it, as in Wikipedia addresses. */
function withoutTrailing(text: string, start: number, end: number): number {
  /** By closing bracket: so many more of them than opening ones. */
  const excess: Record<string, number> = {};
  let last = end;
  for (; last > start; last--) {
    const character = text.charAt(last - 1);
    if (!TRAILING.test(character)) break;
    const open = BRACKETS[character];
    if (open === undefined) continue;
    const link = text.slice(start, last);
    const more = (excess[character] ??= link.split(character).length - link.split(open).length);
    if (more <= 0) break;
    excess[character] = more - 1;
  }
  return last;
}
