import type { MessageVariables, TriedRendering } from '../delivery/prepare-messages.ts';
import type { TemplateContent } from '../templates/template.ts';
import { CompiledTemplates } from './compiled-templates.ts';
import { UnusableTemplate } from './problem.ts';
import { renderMessage } from './render-message.ts';
import type { RenderJob } from './thread-messages.ts';

/** Characters of all parts, and outputs, of a template. */
const MAX_CHARACTERS = 5000;
const MAX_OUTPUTS = 20;
/** Characters of all variables of a message. */
const MAX_VALUES = 2000;
/** Templates that are kept parsed (CompiledTemplates). */
const MAX_COST = 4_000_000;

const TEXT = `"[^"{}]*"|'[^'{}]*'`;
/** One variable, perhaps with a default. */
const OUTPUT = new RegExp(
  String.raw`\{\{-? *(?:user|vars|event)(?:\.[A-Za-z_]\w{0,99}){1,3} *(?:\| *default: *(?:${TEXT}) *)?-?\}\}`,
  'g',
);

const known = new WeakMap<TemplateContent, boolean>();

/**
 * Renders here what costs less than handing it to a thread: text with a few variables in it, which
 * nobody can make expensive.
 */
export class SimpleTemplates {
  readonly #compiled = new CompiledTemplates(MAX_COST);

  /** Undefined: it is a thread's work. */
  render({ key, channel, content, variables }: RenderJob): TriedRendering[] | undefined {
    if (key === '' || !isSimple(content) || !variables.every(areSmall)) return undefined;
    try {
      const parts = this.#compiled.get({ key, channel, content });
      return variables.map((one) => renderMessage({ parts, channel }, one, NO_TIME));
    } catch (error) {
      // The thread says what is wrong with it.
      if (error instanceof UnusableTemplate) return undefined;
      throw error;
    }
  }
}

/** It takes far less than any limit. */
const NO_TIME = () => 0;

/** Without tags, filters but `default`, and HTML. */
export function isSimple(content: TemplateContent): boolean {
  let found = known.get(content);
  if (found === undefined) known.set(content, (found = isSimpleContent(content)));
  return found;
}

function isSimpleContent({ html = '', data = {}, ...texts }: TemplateContent): boolean {
  const parts = [...Object.values(texts), ...Object.values(data)];
  const all = parts.join('');
  if (html !== '' || all.length > MAX_CHARACTERS) return false;
  if ((all.match(OUTPUT) ?? []).length > MAX_OUTPUTS) return false;
  return parts.every((part) => !/\{\{|\{%/.test(part.replace(OUTPUT, '')));
}

/** Texts, numbers and flags, and not much of them. */
function areSmall({ user, vars, event }: MessageVariables): boolean {
  let characters = 0;
  for (const values of [user, vars, event])
    for (const [name, value] of Object.entries<unknown>(values)) {
      if (!isPlain(value)) return false;
      characters += name.length + (typeof value === 'string' ? value.length : 0);
      if (characters > MAX_VALUES) return false;
    }
  return true;
}

function isPlain(value: unknown): boolean {
  return value === null || value === undefined || PLAIN.has(typeof value);
}

const PLAIN: ReadonlySet<string> = new Set(['string', 'number', 'boolean']);
