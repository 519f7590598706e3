/** Its value is html.slice(valueStart, valueEnd): without quotes, with its entities. */
export interface HtmlAttribute {
  /** In lower case. */
  name: string;
  valueStart: number;
  valueEnd: number;
}

/** A start tag, an end tag, or a comment or doctype: html.slice(start, end). */
export interface HtmlTag {
  /** In lower case; `!` for comments and doctypes, which have no attributes, as end tags. */
  name: string;
  isEnd: boolean;
  start: number;
  end: number;
  attributes: readonly HtmlAttribute[];
}

/** Elements whose content holds no tags. */
export const RAW_TEXT: ReadonlySet<string> = new Set([
  ...['script', 'style', 'textarea', 'title', 'xmp', 'iframe', 'noembed', 'noframes'],
]);
const TAG_NAME = /[a-z][^\s/>]*/iy;
const ATTRIBUTE_NAME = /[^\s/>][^\s/>=]*/y;
const SPACES_AND_SLASHES = /[\s/]*/y;
const EQUALS = /\s*=\s*/y;
const UNQUOTED = /[^\s>]*/y;
/** Outlook reads what these hold, so it counts as HTML. */
const CONDITIONAL_COMMENT = /<!--\[if[^>]*>/iy;
const COMMENT_END = /--!?>/g;

/**
 * Tags of an HTML text, in order, as the tokenizer of the HTML standard finds them: comments and
 * the content of scripts and styles hold none, and an unclosed tag at the end is none. Takes linear
 * time for any text.
 */
export function* htmlTags(html: string): Generator<HtmlTag, void> {
  let at = html.indexOf('<');
  while (at >= 0) {
    const next = html.charAt(at + 1);
    const isEnd = next === '/';
    const name = matchAt(TAG_NAME, html, isEnd ? at + 2 : at + 1)?.toLowerCase();
    let end: number | undefined;
    if (name !== undefined) {
      const tag = readTag(html, { name, isEnd, start: at });
      if (!tag) return;
      yield tag;
      end = !isEnd && RAW_TEXT.has(name) ? endOfRawText(html, tag) : tag.end;
    } else if (next === '!' || next === '?' || isEnd) {
      end = endOfComment(html, at);
      if (end !== undefined) yield { name: '!', isEnd: false, start: at, end, attributes: [] };
    } else end = at + 1;
    if (end === undefined) return;
    at = html.indexOf('<', end);
  }
}

function readTag(html: string, of: Pick<HtmlTag, 'name' | 'isEnd' | 'start'>): HtmlTag | undefined {
  const attributes: HtmlAttribute[] = [];
  let at = of.start + of.name.length + (of.isEnd ? 2 : 1);
  for (;;) {
    at += matchAt(SPACES_AND_SLASHES, html, at)?.length ?? 0;
    if (at >= html.length) return undefined;
    if (html.charAt(at) === '>')
      return { ...of, end: at + 1, attributes: of.isEnd ? [] : attributes };
    const name = matchAt(ATTRIBUTE_NAME, html, at) ?? '';
    at += name.length;
    const equals = matchAt(EQUALS, html, at);
    if (equals === undefined) {
      attributes.push({ name: name.toLowerCase(), valueStart: at, valueEnd: at });
      continue;
    }
    at += equals.length;
    const quote = html.charAt(at);
    const isQuoted = quote === '"' || quote === "'";
    const valueStart = isQuoted ? at + 1 : at;
    const valueEnd = isQuoted
      ? html.indexOf(quote, valueStart)
      : valueStart + (matchAt(UNQUOTED, html, valueStart)?.length ?? 0);
    if (valueEnd < 0) return undefined;
    attributes.push({ name: name.toLowerCase(), valueStart, valueEnd });
    at = isQuoted ? valueEnd + 1 : valueEnd;
  }
}

function endOfRawText(html: string, { name, end }: HtmlTag): number | undefined {
  const close = new RegExp(`</${name}(?=[\\s/>])`, 'gi');
  close.lastIndex = end;
  return close.exec(html)?.index;
}

function endOfComment(html: string, start: number): number | undefined {
  if (!html.startsWith('<!--', start)) {
    const end = html.indexOf('>', start);
    return end < 0 ? undefined : end + 1;
  }
  const conditional = matchAt(CONDITIONAL_COMMENT, html, start);
  if (conditional !== undefined) return start + conditional.length;
  const empty = ['<!-->', '<!--->'].find((text) => html.startsWith(text, start));
  if (empty !== undefined) return start + empty.length;
  COMMENT_END.lastIndex = start + 4;
  return COMMENT_END.exec(html) === null ? undefined : COMMENT_END.lastIndex;
}

/** @param pattern sticky */
function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
