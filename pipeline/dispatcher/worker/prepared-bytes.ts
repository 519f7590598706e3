import { BoundedMap } from '../../../platform/bounded-map.ts';
import type { Decision } from './ports.ts';

/** Of a run whose messages have not been seen: an e-mail may have a megabyte. */
const UNSEEN_BYTES = 256 * 1024;
/** Beside its content. */
const MESSAGE_BYTES = 1000;
/** Runs whose size is known. */
const MAX_RUNS = 2000;

/**
 * Bounds the memory of messages that are prepared and not sent yet, by the size of those of each
 * run that were prepared before.
 */
export class PreparedBytes {
  readonly #budget: number;
  readonly #means = new BoundedMap<number, number>(MAX_RUNS);

  /** @param budget bytes, over all chunks */
  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Messages that one of so many chunks may hold; at least one. */
  share(runId: number, chunks: number): number {
    const mean = this.#means.get(runId) ?? UNSEEN_BYTES;
    return Math.max(1, Math.floor(this.#budget / Math.max(1, chunks) / mean));
  }

  seen(runId: number, decisions: readonly Decision[]): void {
    let [messages, bytes] = [0, 0];
    for (const decision of decisions) {
      if (decision.kind !== 'send') continue;
      messages++;
      bytes += sizeOf(decision.message.messages);
    }
    if (messages === 0) return;
    const [mean, known] = [bytes / messages, this.#means.get(runId)];
    // Grows at once and shrinks slowly: the next ones may be as large as the largest.
    const next = known === undefined || mean > known ? mean : known + (mean - known) / 4;
    this.#means.set(runId, next);
  }
}

function sizeOf(messages: Extract<Decision, { kind: 'send' }>['message']['messages']): number {
  const [first] = messages;
  if (!first) return 0;
  const { subject, title, text, html, url, data } = first.content;
  // All targets share the content.
  const characters = [subject, title, text, html, url, ...Object.values(data)].reduce(
    (sum, part) => sum + part.length,
    0,
  );
  return 2 * characters + MESSAGE_BYTES * messages.length;
}
