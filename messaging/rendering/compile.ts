import type { Template } from 'liquidjs';
import type { Channel } from '../../events/channels/channel-change.ts';
import type { TemplateProblem } from '../templates/read-draft.ts';
import type { TemplateContent } from '../templates/template.ts';
import { ENGINES, type OutputKind } from './engine.ts';
import { withDirection } from './html-direction.ts';
import { MAX_CHARACTERS, MAX_TAGS } from './limits.ts';
import { problemOf, UnusableTemplate } from './problem.ts';
import { TemplateParser } from './template-parser.ts';

/** A parsed part of a template: `subject`, or `data.order`. */
export interface CompiledPart {
  name: string;
  part: keyof TemplateContent;
  kind: OutputKind;
  nodes: Template[];
}

const TEXT_PARTS = ['subject', 'title', 'text', 'html', 'url'] as const;

/** The parts that messages of a channel have. */
const USED: Readonly<Record<Channel, readonly (keyof TemplateContent)[]>> = {
  email: ['subject', 'text', 'html'],
  sms: ['text'],
  push: ['title', 'text', 'url', 'data'],
  web: ['title', 'text', 'url', 'data'],
  inapp: ['title', 'text', 'url', 'data'],
  bale: ['title', 'text', 'url'],
  eitaa: ['title', 'text', 'url'],
  rubika: ['title', 'text', 'url'],
};

/** Throws UnusableTemplate with the first mistake of a part that the channel uses. */
export function compileTemplate(content: TemplateContent, channel: Channel): CompiledPart[] {
  const used = USED[channel];
  return partsOf(content)
    .filter(({ part }) => used.includes(part))
    .map((one) => {
      const compiled = compilePart(one);
      if ('message' in compiled) throw new UnusableTemplate(compiled);
      if (one.part !== 'html') return compiled;
      const directed = withDirection(one.source);
      return directed === one.source ? compiled : { ...compiled, nodes: parse('html', directed) };
    });
}

/** The first mistake of each part, those that the channel does not use too. */
export function problemsOf(content: TemplateContent): TemplateProblem[] {
  return partsOf(content)
    .map(compilePart)
    .filter((compiled) => 'message' in compiled);
}

interface Source {
  name: string;
  part: keyof TemplateContent;
  source: string;
  /** Tags and outputs of this part and those before it. */
  tags: number;
}

function partsOf(content: TemplateContent): Source[] {
  const texts = TEXT_PARTS.flatMap((part) => {
    const source = content[part];
    return source === undefined ? [] : [{ name: part, part, source }];
  });
  const data = Object.entries(content.data ?? {}).map(([key, source]) => ({
    ...{ name: `data.${key}`, part: 'data' as const, source },
  }));
  let tags = 0;
  return [...texts, ...data].map((one) => ({ ...one, tags: (tags += tagsIn(one.source)) }));
}

/** A liquid tag holds one tag a line. */
function tagsIn(source: string): number {
  const tag = /\{%-?\s*liquid\b/.test(source) ? /\{\{|\{%|\n/ : /\{\{|\{%/;
  return source.split(tag).length - 1;
}

function compilePart({ name, part, source, tags }: Source): CompiledPart | TemplateProblem {
  const maxCharacters = MAX_CHARACTERS[part].template;
  if (source.length > maxCharacters)
    return {
      field: name,
      message: `it has ${source.length} characters, at most ${maxCharacters} are allowed`,
    };
  // Parsed ones take memory, and liquidjs takes quadratic time for very many.
  if (tags > MAX_TAGS)
    return { field: name, message: `the template has more than ${MAX_TAGS} tags and outputs` };
  const kind = part === 'html' ? 'html' : 'text';
  try {
    return { name, part, kind, nodes: parse(kind, source) };
  } catch (error) {
    return problemOf(name, error);
  }
}

function parse(kind: OutputKind, source: string): Template[] {
  return new TemplateParser(ENGINES[kind]).parse(source);
}
