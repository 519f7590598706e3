import { availableParallelism } from 'node:os';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { FairQueue } from '../../platform/fair-queue.ts';
import type { MessageVariables, Rendering } from '../delivery/prepare-messages.ts';
import type { TemplateVersion } from '../templates/template.ts';
import { CPU_LIMITS, type CpuLimits } from './limits.ts';
import { MAX_HEAP_MIB, RenderThread } from './render-thread.ts';
import { SimpleTemplates } from './simple-templates.ts';
import type { RenderJob } from './thread-messages.ts';

/** Messages of one job: they are copied to the thread. */
const JOB_MESSAGES = 100;
/** Messages that wait, over all accounts and of one account. */
const MAX_WAITING = { total: 100_000, perAccount: 10_000 };
/** Expensive messages may take so much more for each message that is rendered. */
const WASTED_FOR_EACH_MS = 10;
const WASTED_WINDOW_MS = 60_000;
const MAX_WASTEFUL = 2000;
/** After a thread was lost. */
const LOST_PAUSE_MS = 1000;

/** Too many messages wait: nothing was rendered, and it can be done again. */
export class RendererBusy extends Error {}

/** A version of a template; template id 0: a draft, which is parsed each time. */
export type TemplateToRender = Omit<TemplateVersion, 'category'>;

export interface RendererOptions {
  /** One account uses all but one of them. */
  threads?: number;
  /** Of one thread. */
  heapMib?: number;
  cpuLimits?: CpuLimits;
  now: () => number;
  /** A thread was ended because of a template. */
  onStopped?: (template: TemplateToRender, why: string) => void;
}

/** Of a version or an account, in the present window. */
interface Waste {
  ms: number;
  /** Messages that were rendered meanwhile. */
  rendered: number;
  /** The beginning of the window. */
  since: number;
}

/**
 * Renders templates in threads that are ended when a message takes too long or too much memory;
 * those that cannot take much, here (simple-templates.ts).
 * Accounts take turns, so a hostile template delays other accounts by one job at most.
 */
export class TemplateRenderer {
  readonly #options: RendererOptions;
  readonly #cpuLimits: CpuLimits;
  readonly #queue: FairQueue;
  readonly #idle: RenderThread[];
  readonly #threads: readonly RenderThread[];
  readonly #waitingOf = new Map<number, number>();
  readonly #simple = new SimpleTemplates();
  readonly #wasted = new BoundedMap<string, Waste>(MAX_WASTEFUL);
  #waiting = 0;

  constructor(options: RendererOptions) {
    const { threads = Math.max(2, Math.min(4, availableParallelism() - 1)) } = options;
    const { heapMib = MAX_HEAP_MIB, cpuLimits = CPU_LIMITS } = options;
    this.#options = options;
    this.#cpuLimits = cpuLimits;
    const newThread = () => new RenderThread({ heapMib, maxJobCpuMs: cpuLimits.job });
    this.#threads = Array.from({ length: threads }, newThread);
    this.#idle = [...this.#threads];
    this.#queue = new FairQueue({
      ...{ concurrency: threads, concurrencyPerAccount: Math.max(1, threads - 1) },
      // Messages are counted instead.
      maxWaiting: { total: Infinity, perAccount: Infinity },
    });
  }

  /** As renderMany, for one message. */
  async render(template: TemplateToRender, variables: MessageVariables): Promise<Rendering> {
    const [rendering] = await this.renderMany(template, [variables]);
    if (!rendering) throw new Error('a message was not rendered');
    return rendering;
  }

  /**
   * Answers in the order of the variables.
   * @throws RendererBusy
   */
  async renderMany(
    template: TemplateToRender,
    variables: readonly MessageVariables[],
  ): Promise<Rendering[]> {
    const { accountId } = template;
    const own = this.#waitingOf.get(accountId) ?? 0;
    const { total, perAccount } = MAX_WAITING;
    if (own + variables.length > perAccount || this.#waiting + variables.length > total)
      throw new RendererBusy('too many messages wait to be rendered: try again in a moment');
    this.#count(accountId, variables.length);
    try {
      const renderings: Rendering[] = [];
      for (let at = 0; at < variables.length; at += JOB_MESSAGES)
        renderings.push(
          ...(await this.#renderJob(template, variables.slice(at, at + JOB_MESSAGES))),
        );
      return renderings;
    } finally {
      this.#count(accountId, -variables.length);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }

  async #renderJob(
    template: TemplateToRender,
    variables: readonly MessageVariables[],
  ): Promise<Rendering[]> {
    const rendered = this.#simple.render(jobOf(template, variables));
    if (rendered) return rendered;
    const renderings = new Map<number, Rendering>();
    while (renderings.size < variables.length) {
      const left = [...variables.keys()].filter((index) => !renderings.has(index));
      const retryAfterMs = this.#pauseOf(template);
      if (retryAfterMs > 0) {
        // They were not tried: it may be the data of a single person that makes it hang.
        for (const index of left) renderings.set(index, { retryAfterMs });
        break;
      }
      const result = await this.#run(template, { left, variables });
      if (result.kind === 'lost') {
        for (const index of left) renderings.set(index, { retryAfterMs: LOST_PAUSE_MS });
        break;
      }
      if (result.kind === 'rendered') {
        for (const [at, rendering] of result.renderings.entries())
          renderings.set(left[at] ?? 0, rendering);
        const count = result.renderings.filter((one) => 'content' in one).length;
        this.#noteWaste(template, { ms: result.wastedMs, rendered: count });
      } else {
        // The messages before it are rendered again: they took less than a slice.
        const index = left[result.index] ?? 0;
        renderings.set(index, { error: `the template was stopped: ${result.why}` });
        this.#noteWaste(template, { ms: result.wastedMs, rendered: 0 });
        this.#options.onStopped?.(template, result.why);
      }
    }
    return [...variables.keys()].flatMap((index) => renderings.get(index) ?? []);
  }

  async #run(
    template: TemplateToRender,
    { left, variables }: { left: readonly number[]; variables: readonly MessageVariables[] },
  ) {
    const job = jobOf(
      template,
      left.flatMap((index) => variables[index] ?? []),
    );
    const running = this.#queue.run(template.accountId, async () => {
      const thread = this.#idle.pop();
      if (!thread) throw new Error('more jobs run than there are threads');
      try {
        return await thread.run(job);
      } finally {
        this.#idle.push(thread);
      }
    });
    if (!running) throw new RendererBusy('too many jobs wait');
    return await running;
  }

  /** How long messages of the version wait, ms; 0: they are rendered. */
  #pauseOf(template: TemplateToRender): number {
    const { version, account } = namesOf(template);
    const now = this.#options.now();
    return Math.max(
      pauseOf(this.#wasted.get(version), { maxMs: this.#cpuLimits.version, now }),
      pauseOf(this.#wasted.get(account), { maxMs: this.#cpuLimits.account, now }),
    );
  }

  #noteWaste(template: TemplateToRender, { ms, rendered }: Omit<Waste, 'since'>): void {
    const now = this.#options.now();
    for (const name of Object.values(namesOf(template))) {
      const known = this.#wasted.get(name);
      if (!known && ms === 0) continue;
      const isOver = !known || now - known.since >= WASTED_WINDOW_MS;
      if (isOver) this.#wasted.set(name, { ms, rendered, since: now });
      else {
        known.ms += ms;
        known.rendered += rendered;
      }
    }
  }

  #count(accountId: number, messages: number): void {
    this.#waiting += messages;
    const own = (this.#waitingOf.get(accountId) ?? 0) + messages;
    if (own > 0) this.#waitingOf.set(accountId, own);
    else this.#waitingOf.delete(accountId);
  }
}

function jobOf(
  { templateId, version, channel, content }: TemplateToRender,
  variables: readonly MessageVariables[],
): RenderJob {
  const key = templateId === 0 ? '' : `${templateId}:${version}`;
  return { key, channel, content, variables };
}

function pauseOf(
  wasted: Waste | undefined,
  { maxMs, now }: { maxMs: number; now: number },
): number {
  if (!wasted || wasted.ms < maxMs + wasted.rendered * WASTED_FOR_EACH_MS) return 0;
  return Math.max(0, wasted.since + WASTED_WINDOW_MS - now);
}

function namesOf({ accountId, templateId, version }: TemplateToRender) {
  return { version: `${accountId}:${templateId}:${version}`, account: `${accountId}` };
}
