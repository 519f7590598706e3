import { Output, TokenKind, type Template } from 'liquidjs';
import { htmlTags, RAW_TEXT } from '../html/html-tags.ts';
import { textOfHtml } from './text-of-html.ts';

/** The text of an HTML part, made once: texts, and between them numbers of outputs. */
type Skeleton = readonly (string | number)[];

const BEGIN = '\ue000';
const END = '\ue001';
const PLACE = /\ue000(\d+)\ue001/;
/** It stands in the text as it is: whitespace and control characters may not. */
const PLAIN_VALUE = /^[^\s\u200b\p{Cc}\ue000\ue001]+(?: [^\s\u200b\p{Cc}\ue000\ue001]+)*$/u;
/** Of a larger template the HTML of each message is parsed: the work here has to be bounded. */
const MAX_HTML = 100_000;
const MAX_PLACES = 100;
const ENTITY = /^&[#\w]*$/;
const CHARACTERS: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&#34;': '"',
  '&#39;': "'",
};

const known = new WeakMap<readonly Template[], { skeleton: Skeleton | undefined }>();

/**
 * The text of an HTML part, as textOfHtml makes it. Where a template holds only variables, and
 * these only in its text, they are put into a text that is made once: parsing HTML is three
 * quarters of rendering a usual e-mail.
 *
 * @param pieces what each node of the part became; other than nodes when one is a tag
 */
export function textOfPieces(nodes: readonly Template[], pieces: readonly string[]): string {
  return textBySkeleton(nodes, pieces) ?? textOfHtml(pieces.join(''));
}

/** Undefined: the HTML has to be parsed. */
function textBySkeleton(nodes: readonly Template[], pieces: readonly string[]): string | undefined {
  let found = known.get(nodes);
  if (!found) known.set(nodes, (found = { skeleton: skeletonOf(nodes, pieces) }));
  if (!found.skeleton) return undefined;
  let text = '';
  for (const part of found.skeleton) {
    const value = typeof part === 'string' ? part : valueOf(pieces[part] ?? '');
    if (value === undefined) return undefined;
    text += value;
  }
  return text;
}

/** What a person sees of an escaped value; undefined: that depends on what stands beside it. */
function valueOf(piece: string): string | undefined {
  if (/[<>]/.test(piece)) return undefined;
  const value = piece.replace(/&(?:amp|lt|gt|#34|#39);/g, (entity) => CHARACTERS[entity] ?? entity);
  return PLAIN_VALUE.test(value) ? value : undefined;
}

function skeletonOf(nodes: readonly Template[], pieces: readonly string[]): Skeleton | undefined {
  const isOutput = nodes.map((node) => node instanceof Output);
  if (nodes.some(({ token }, at) => !isOutput[at] && token.kind !== TokenKind.HTML))
    return undefined;
  const raw = pieces.filter((_, at) => !isOutput[at]).join('');
  if (pieces.length !== nodes.length || raw.includes(BEGIN) || raw.includes(END)) return undefined;
  const html = pieces.map((piece, at) => (isOutput[at] ? `${BEGIN}${at}${END}` : piece)).join('');
  const places = [...html.matchAll(new RegExp(PLACE, 'g'))].map(({ index }) => index);
  if (html.length > MAX_HTML || places.length > MAX_PLACES) return undefined;
  if (!areInText(html, places)) return undefined;
  const parts = textOfHtml(html).split(PLACE);
  const skeleton = parts.map((part, at) => (at % 2 === 0 ? part : Number(part)));
  const shown = skeleton.filter((part) => typeof part === 'number');
  const isEachOnce = shown.length === places.length && new Set(shown).size === places.length;
  return isEachOnce ? skeleton : undefined;
}

/** Not in tags and comments, nor in elements whose text or what is shown of it is special. */
function areInText(html: string, places: readonly number[]): boolean {
  if (places.some((at) => continuesMarkup(html.slice(0, at)))) return false;
  const special: { from: number; to: number }[] = [];
  let anchor: number | undefined;
  let rawText: number | undefined;
  for (const { name, isEnd, start, end } of htmlTags(html)) {
    special.push({ from: start, to: end });
    if (rawText !== undefined) special.push({ from: rawText, to: start });
    rawText = !isEnd && RAW_TEXT.has(name) ? start : undefined;
    if (name === 'plaintext') return false;
    // The address of a link is left out when its text is the same.
    if (name !== 'a') continue;
    if (anchor !== undefined) special.push({ from: anchor, to: start });
    anchor = isEnd ? undefined : start;
  }
  for (const from of [anchor, rawText])
    if (from !== undefined) special.push({ from, to: html.length });
  return places.every((at) => special.every(({ from, to }) => at < from || at >= to));
}

/** What follows belongs to a tag or an entity. */
function continuesMarkup(html: string): boolean {
  if (html.lastIndexOf('<') > html.lastIndexOf('>')) return true;
  const ampersand = html.lastIndexOf('&');
  return ampersand >= 0 && ENTITY.test(html.slice(ampersand));
}
