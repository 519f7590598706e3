import type { IncomingMessage, ServerResponse } from 'node:http';
import { locationOf, readCode } from '../../events/short-link.ts';
import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { discard } from '../http/discard.ts';
import type { Turns } from '../../platform/http/turns.ts';
import { traceIn } from '../../platform/http/trace.ts';
import type { Answered } from '../http/serve-events.ts';
import type { Clicks, LinkStore } from './link-store.ts';

/** The route in the table of the ingest host. */
export const LINKS_PATH = '/s/:code';

export interface LinkServerOptions {
  store: Pick<LinkStore, 'targets'>;
  clicks: { add: (code: string, clicks: Clicks) => void };
  now: () => number;
  turns: Turns;
  isClosing: () => boolean;
  onAnswered: Answered;
  onUnreachable?: (error: unknown) => void;
  /** Cached links. */
  capacity?: number;
}

/** A target never changes, so it is cached; a deleted link still works for this long, ms. */
const CACHED_MS = 60_000;
const NOT_FOUND = 'not found\n';

/** Serves GET /s/{code} (ingest 4.7): 302 or a plain 404. Counts the click afterwards. */
export class LinkServer {
  readonly #options: LinkServerOptions;
  readonly #lookup: BatchedLookup<string, string>;
  readonly #known: BoundedMap<string, { target: string; until: number }>;

  constructor(options: LinkServerOptions) {
    this.#options = options;
    this.#lookup = new BatchedLookup((codes) => options.store.targets(codes));
    this.#known = new BoundedMap(options.capacity ?? 50_000);
  }

  /** Never rejects. */
  async serve(
    path: string,
    { request, response }: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const began = performance.now();
    const code = readCode(path);
    const target = code === undefined ? undefined : await this.#targetOf(code);
    const took = performance.now() - began;
    const canContinue = request.complete || (await discard(request, this.#options.turns));
    if (response.headersSent || response.destroyed) return;
    const head = ['X-Service-Trace', traceIn(request.headers)];
    if (this.#options.isClosing() || !canContinue) head.push('Connection', 'close');
    if (code === undefined || target === undefined) {
      response
        .writeHead(404, [
          'Content-Type',
          'text/plain; charset=utf-8',
          'Content-Length',
          String(NOT_FOUND.length),
          ...head,
        ])
        .end(NOT_FOUND);
      this.#options.onAnswered(LINKS_PATH, 404, took);
      return;
    }
    response.writeHead(302, [
      'Location',
      locationOf(target),
      'Cache-Control',
      'no-store',
      'Content-Length',
      '0',
      ...head,
    ]);
    response.end(() => {
      // A HEAD comes from a program that checks where the link leads.
      if (request.method === 'GET')
        this.#options.clicks.add(code, { count: 1, lastAt: this.#options.now() });
    });
    this.#options.onAnswered(LINKS_PATH, 302, took);
  }

  async #targetOf(code: string): Promise<string | undefined> {
    const { now, onUnreachable } = this.#options;
    const known = this.#known.get(code);
    if (known && now() < known.until) return known.target;
    try {
      const target = await this.#lookup.find(code);
      if (target !== undefined) this.#known.set(code, { target, until: now() + CACHED_MS });
      return target;
    } catch (error) {
      onUnreachable?.(error);
      return known?.target;
    }
  }
}
