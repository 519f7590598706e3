import type { TemplateContent } from './template.ts';

const OPENING = /(?=\{[{%])/;
/** Reads a variable whose name is computed: it may be `user`. */
const COMPUTED_ROOT = /(?:^|[^\w\-?\]\u0080-\uffff])\[/;
const PROPERTY = /^\.\s*([\w\-?\u0080-\uffff]+)/;
const ELEMENT = /^\[\s*(?:"([^"'\\]*)"|'([^"'\\]*)')\s*\]/;
/** Beyond ASCII, what ends a name in Liquid. */
const ENDS_NAME = /[\s\u180e\u201c\u201d]/;

const known = new WeakMap<TemplateContent, { names: readonly string[] | undefined }>();

/**
 * The traits and columns that a template may read as `user.…`, and perhaps others; undefined: any.
 * A person has many, and a message needs few.
 */
export function namedVariables(content: TemplateContent): readonly string[] | undefined {
  let found = known.get(content);
  if (!found) known.set(content, (found = { names: namesIn(content) }));
  return found.names;
}

function namesIn({ data = {}, ...parts }: TemplateContent): readonly string[] | undefined {
  const names = new Set<string>();
  for (const text of [...Object.values(parts), ...Object.values(data)])
    for (const tag of tagsOf(text)) if (!addNames(tag, names)) return undefined;
  return [...names];
}

/** Every tag and output, each perhaps with some text behind it. */
function tagsOf(text: string): string[] {
  return text.split(OPENING).flatMap((piece) => {
    if (!piece.startsWith('{{') && !piece.startsWith('{%')) return [];
    const end = Math.max(piece.lastIndexOf('}}'), piece.lastIndexOf('%}'));
    return [end < 0 ? piece : piece.slice(0, end)];
  });
}

/** False: it may read any. */
function addNames(tag: string, names: Set<string>): boolean {
  if (COMPUTED_ROOT.test(tag)) return false;
  for (const { index } of tag.matchAll(/user/g)) {
    const rest = tag.slice(index + 'user'.length);
    if (/\w/.test(tag.charAt(index - 1)) || /^[\w?]/.test(rest)) continue;
    const [, property] = PROPERTY.exec(rest) ?? [];
    const [, double, single] = ELEMENT.exec(rest) ?? [];
    const name = property ?? double ?? single;
    if (name === undefined || (property !== undefined && ENDS_NAME.test(property))) return false;
    names.add(name);
    // `-}}` and `-%}` are no part of it.
    names.add(name.replace(/-+$/, ''));
  }
  return true;
}
