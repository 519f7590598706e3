import { htmlTags, RAW_TEXT, type HtmlTag } from '../html/html-tags.ts';

const LIQUID = /\{\{[^]*?\}\}|\{%[^]*?%\}/g;
const DIRECTED = /(?=\p{L})(?:\p{Script=Arabic}|\p{Script=Latin})/gu;
const LATIN = /\p{Script=Latin}/u;

const OPENING = {
  rtl: '<div dir="rtl" lang="fa" style="text-align:right">',
  // All text comes from variables: mail programs decide for each message.
  auto: '<div dir="auto">',
};

/**
 * A template of Persian HTML with its content in an element that is written from right to left:
 * mail programs rewrite html and body, and lose their direction. HTML that is mostly Latin, or says
 * the direction of its elements itself, stays as it is.
 *
 * @param source without mistakes in its Liquid
 */
export function withDirection(source: string): string {
  // Blanks for Liquid: its strings are not the text, and offsets stay the same.
  const html = source.replace(LIQUID, (liquid) => ' '.repeat(liquid.length));
  const tags = [...htmlTags(html)];
  const roots = tags.filter(({ name }) => name === 'html' || name === 'body');
  const stated = roots.map(directionOf).find((direction) => direction !== undefined);
  const isStatedInside = tags.some((tag) => !roots.includes(tag) && directionOf(tag) !== undefined);
  if (isStatedInside || (stated !== undefined && stated !== 'rtl')) return source;
  const direction = stated ?? directionOfText(html, tags);
  if (direction === 'ltr') return source;
  const { start, end } = contentRange(html, tags);
  return `${source.slice(0, start)}${OPENING[direction]}${source.slice(start, end)}</div>${source.slice(end)}`;

  function directionOf({ attributes }: HtmlTag): string | undefined {
    const found = attributes.find(({ name }) => name === 'dir');
    return found && html.slice(found.valueStart, found.valueEnd).trim().toLowerCase();
  }
}

function directionOfText(html: string, tags: readonly HtmlTag[]): 'rtl' | 'ltr' | 'auto' {
  let [arabic, latin, from] = [0, 0, 0];
  const count = (to: number) => {
    for (const [character] of html.slice(from, to).matchAll(DIRECTED))
      if (LATIN.test(character)) latin++;
      else arabic++;
  };
  for (const tag of tags) {
    count(tag.start);
    // What a raw text element holds is not shown.
    from = !tag.isEnd && RAW_TEXT.has(tag.name) ? Infinity : tag.end;
  }
  count(html.length);
  if (arabic === 0 && latin === 0) return 'auto';
  // Persian mails hold brand names and addresses in Latin.
  return arabic * 2 >= latin ? 'rtl' : 'ltr';
}

/** What a browser would put into the body. */
function contentRange(html: string, tags: readonly HtmlTag[]): { start: number; end: number } {
  const startOf = (name: string) => tags.find((tag) => tag.name === name && !tag.isEnd)?.end;
  const endOf = (name: string) => tags.findLast((tag) => tag.name === name && tag.isEnd);
  const doctype = tags.find(({ start }) => /^\s*<!doctype/i.test(html.slice(0, start + 9)));
  const start = startOf('body') ?? endOf('head')?.end ?? startOf('html') ?? doctype?.end ?? 0;
  const end = endOf('body')?.start ?? endOf('html')?.start ?? html.length;
  return { start, end: Math.max(start, end) };
}
