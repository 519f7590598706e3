import { toValueSync } from 'liquidjs';
import type { Channel } from '../../events/channels/channel-change.ts';
import type { MessageVariables, TriedRendering } from '../delivery/prepare-messages.ts';
import type { RenderedContent } from '../providers/provider.ts';
import { CappedEmitter } from './capped-emitter.ts';
import type { CompiledPart } from './compile.ts';
import { markDirection } from './direction.ts';
import { ENGINES } from './engine.ts';
import { textOfPieces } from './html-text-skeleton.ts';
import { MAX_CHARACTERS } from './limits.ts';
import { problemOf, UnusableTemplate } from './problem.ts';
import { RenderBudget } from './render-budget.ts';
import { SafeContext } from './safe-context.ts';

/**
 * Renders one message. What variables hold is text: it is never read as Liquid, and in HTML it is
 * escaped.
 *
 * @param cpuMs time of a core that this thread has used, ms
 */
export function renderMessage(
  { parts, channel }: { parts: readonly CompiledPart[]; channel: Channel },
  variables: MessageVariables,
  cpuMs: () => number,
): TriedRendering {
  const missing = new Set<string>();
  const budget = new RenderBudget(cpuMs);
  const content = { subject: '', title: '', text: '', html: '', url: '' };
  const data: Record<string, string> = {};
  let textOfHtml = () => '';
  try {
    for (const compiled of parts) {
      const { buffer, pieces } = renderPart(compiled, { variables, missing, budget });
      if (compiled.part === 'data') data[compiled.name.slice('data.'.length)] = buffer;
      else content[compiled.part] = buffer;
      if (compiled.part === 'html') textOfHtml = () => textOfPieces(compiled.nodes, pieces);
    }
    const complete = finished({ ...content, data }, { channel, textOfHtml });
    return { content: complete, missing: [...missing] };
  } catch (error) {
    if (error instanceof UnusableTemplate) return { error: error.message };
    throw error;
  }
}

function renderPart(
  { name, part, kind, nodes }: CompiledPart,
  of: { variables: MessageVariables; missing: Set<string>; budget: RenderBudget },
): CappedEmitter {
  const engine = ENGINES[kind];
  const emitter = new CappedEmitter(MAX_CHARACTERS[part].rendered);
  const { user, vars, event } = of.variables;
  try {
    const context = new SafeContext({ user, vars, event }, { engine, ...of });
    const rendering = engine.renderer.renderTemplates(nodes, context, emitter);
    toValueSync(rendering);
    of.budget.checkTime();
    return emitter;
  } catch (error) {
    throw new UnusableTemplate(problemOf(name, error));
  }
}

const LINE_BREAKS = /[\p{Cc}\u2028\u2029]+/gu;
const DANGEROUS_URL = /^\s*(?:javascript|data|vbscript|file):/i;

/** What each channel needs beside its templates. */
function finished(
  content: RenderedContent,
  { channel, textOfHtml }: { channel: Channel; textOfHtml: () => string },
): RenderedContent {
  const { html } = content;
  const isEmail = channel === 'email';
  const text = content.text.trim() === '' && html !== '' ? textOfHtml() : content.text;
  const url = content.url.trim();
  if (DANGEROUS_URL.test(url))
    throw problem('url', 'it is not an address that people may be sent to');
  const finished = {
    ...{ ...content, url, subject: oneLine(content.subject), title: oneLine(content.title) },
    // Mail programs show the text of an e-mail by paragraphs.
    text: isEmail ? text : markDirection(text),
  };
  checkPresence(finished, channel);
  return finished;
}

function oneLine(text: string): string {
  return markDirection(text.replace(LINE_BREAKS, ' ').trim());
}

/** A message that would show nothing is not sent. */
function checkPresence(content: RenderedContent, channel: Channel): void {
  const { title, text, html, data } = content;
  const shown = channel === 'email' ? text + html : title + text;
  if (shown.trim() !== '') return;
  if (channel === 'push' && Object.keys(data).length > 0) return;
  throw problem('text', 'nothing is left of it for this person: add default values');
}

function problem(field: string, message: string): UnusableTemplate {
  return new UnusableTemplate({ field, message });
}
