import { compileTemplate, type CompiledPart } from './compile.ts';
import type { RenderJob } from './thread-messages.ts';

/** Characters, and tags as so many of them: about half the bytes of a parsed template. */
const MAX_COST = 32_000_000;
const COST_OF_TAG = 1500;

/** Parsed templates of one thread, those that were used last. */
export class CompiledTemplates {
  readonly #maxCost: number;
  /** In the order of their last use. */
  readonly #kept = new Map<string, { parts: CompiledPart[]; cost: number }>();
  #cost = 0;

  constructor(maxCost = MAX_COST) {
    this.#maxCost = maxCost;
  }

  /** Throws UnusableTemplate. */
  get({ key, channel, content }: Omit<RenderJob, 'variables'>): readonly CompiledPart[] {
    const known = this.#kept.get(key);
    if (known) {
      this.#kept.delete(key);
      this.#kept.set(key, known);
      return known.parts;
    }
    const parts = compileTemplate(content, channel);
    if (key !== '') this.#keep(key, parts, costOf(content));
    return parts;
  }

  #keep(key: string, parts: CompiledPart[], cost: number): void {
    this.#kept.set(key, { parts, cost });
    this.#cost += cost;
    for (const [oldest, other] of this.#kept) {
      if (this.#cost <= this.#maxCost) break;
      this.#kept.delete(oldest);
      this.#cost -= other.cost;
    }
  }
}

function costOf(content: RenderJob['content']): number {
  const text = JSON.stringify(content);
  return text.length + COST_OF_TAG * (text.split(/\{\{|\{%/).length - 1);
}
