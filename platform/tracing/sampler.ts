import { isTraceparent } from '../http/trace.ts';

/** A span of another process. */
export interface RemoteSpan {
  traceId: string;
  spanId: string;
}

/** What a request becomes. */
export type Sampling = { kind: 'no' } | { kind: 'root' } | { kind: 'child'; of: RemoteSpan };

const NO = { kind: 'no' } as const;
const SAMPLED = 1;

/** The span that a traceparent names, when its trace is sampled. */
export function sampledSpan(traceparent: string): RemoteSpan | undefined {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return (Number.parseInt(flags, 16) & SAMPLED) === 0 ? undefined : { traceId, spanId };
}

/** So many in each second. */
class PerSecond {
  readonly #most: number;
  #second = 0;
  #used = 0;

  constructor(most: number) {
    this.#most = most;
  }

  take(now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) [this.#second, this.#used] = [second, 0];
    if (this.#used >= this.#most) return false;
    this.#used++;
    return true;
  }
}

/**
 * Decides which requests are traced. A valid traceparent decides, as W3C Trace Context wants it;
 * clients are strangers, so what they ask for has a limit of its own.
 */
export class Sampler {
  readonly #share: number;
  readonly #own: PerSecond;
  readonly #asked: PerSecond;

  constructor(options: { percent: number; perSecond: number }) {
    this.#share = options.percent / 100;
    this.#own = new PerSecond(options.perSecond);
    this.#asked = new PerSecond(options.perSecond);
  }

  /** @param chance from 0 to 1 @param now ms */
  sample(
    traceparent: string | undefined,
    { chance, now }: { chance: number; now: number },
  ): Sampling {
    if (traceparent === undefined || !isTraceparent(traceparent))
      return chance < this.#share && this.#own.take(now) ? { kind: 'root' } : NO;
    const of = sampledSpan(traceparent);
    return of && this.#asked.take(now) ? { kind: 'child', of } : NO;
  }
}

const TRACE_ID_LENGTH = 32;

/**
 * The id of a trace that begins with a request: it ends with the request's X-Service-Trace, which
 * the rows of its events carry, so that each leads to the other.
 * @param random 32 hexadecimal characters
 */
export function traceIdOf(trace: string, random: string): string {
  const own = trace.slice(-TRACE_ID_LENGTH);
  const id = random.slice(0, TRACE_ID_LENGTH - own.length) + own;
  return /^0+$/.test(id) ? random : id;
}
