import { isShortLinkTarget, shortLinkCode } from './short-link.ts';
import { textLinks } from './text-links.ts';

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

/**
 * The links of an SMS to shorten (ingest 4.7): http and https only, only where the result is
 * shorter, none on a service line or without a base.
 */
export function linksToShorten({ text, accountId, base, line }: MessageText): LinkToShorten[] {
  if (base === '' || line === 'service') return [];
  const links: LinkToShorten[] = [];
  for (const { start, end, isGlued } of textLinks(text)) {
    const target = text.slice(start, end);
    if (!isShortLinkTarget(target)) continue;
    const code = shortLinkCode(accountId, target);
    // Phones would take a letter that follows at once as part of the code.
    const replacement = `${base.replace(/\/+$/, '')}/s/${code}${isGlued ? ' ' : ''}`;
    if (replacement.length < target.length) links.push({ start, end, target, code, replacement });
  }
  return links;
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
