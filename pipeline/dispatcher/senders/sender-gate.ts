import {
  afterAttempt,
  CLOSED,
  FAILURES_TO_OPEN,
  phaseOf,
  type BreakerPhase,
  type BreakerState,
} from '../../../platform/breaker.ts';
import type { CallLimit, CallShare } from '../../../platform/call-limit.ts';
import type { RateLimiter } from './rate-limiter.ts';

/** What a call came to, as far as it says something about the sender. */
export type SenderAnswer =
  /** Sent, or refused for good: the sender works. */
  | { kind: 'working' }
  | { kind: 'failing'; afterMs: number | undefined }
  /** The sender is refused: somebody must act. */
  | { kind: 'broken' };

/** What is known of the sender that the channel has now. */
export interface GateSender {
  /** Provider and revision. */
  identity: string;
  /** Calls that may be open. */
  concurrency: number;
  /** Calls a second that campaigns may make; undefined: no limit. */
  perSecond: number | undefined;
  /** Messages a second of the account's campaigns; undefined: no limit. */
  accountPerSecond: number | undefined;
  /** Marked by whoever was refused; one message at a time tries whether it works again. */
  isBroken: boolean;
}

interface GateDeps {
  calls: CallLimit;
  rate: RateLimiter;
  accountRate: RateLimiter;
  /** ms, monotonic */
  now: () => number;
  random: () => number;
  onPhase: (phase: BreakerPhase) => void;
}

/** A sender that answers within this time is quick, ms: an exponentially weighted mean. */
const QUICK_MS = 500;
/** One whose calls are open for so long without any answer is not. */
const SILENT_MS = 2000;
/** A sender that was refused is tried again after this time, ms; the longest Retry-After of one. */
const BROKEN_PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 300_000;
/** Chunks that wait ask for permits again sooner than this, ms. */
const AT_LIMIT_MS = 10_000;

/**
 * Decides how many calls one channel of an account may make now in this process: by the sender's
 * limits, its circuit breaker, and what other senders and accounts leave.
 */
export class SenderGate {
  readonly #deps: GateDeps;
  readonly #waiting = new Set<() => void>();
  #share: CallShare;
  #sender: GateSender | undefined;
  #breaker: BreakerState = CLOSED;
  #used = 0;
  #meanMs: number | undefined;
  #answeredAt = 0;
  /** The last time somebody asked for permits, there were not enough. */
  #isLimited = false;
  /** The last time that was because of the sender's own limits, while it worked. */
  #atLimitAt = Number.NEGATIVE_INFINITY;
  /** The sender that was found to work although it is marked as broken. */
  #working = '';

  constructor(accountId: number, deps: GateDeps) {
    this.#deps = deps;
    this.#share = { accountId, isQuick: false };
  }

  get sender(): GateSender | undefined {
    return this.#sender;
  }

  get openCalls(): number {
    return this.#used;
  }

  get phase(): BreakerPhase {
    const phase = phaseOf(this.#breaker, this.#deps.now());
    if (phase !== 'closed' || !this.#sender?.isBroken) return phase;
    return this.#working === this.#sender.identity ? 'closed' : 'half_open';
  }

  get canSend(): boolean {
    return this.#sender !== undefined && this.phase !== 'open';
  }

  /** More could be sent than is: the last permits were given in full. */
  get hasRoom(): boolean {
    return this.phase === 'closed' && !this.#isLimited;
  }

  /** It works, and sends as much as its own limits and those of its account allow. */
  get isAtLimit(): boolean {
    return this.phase === 'closed' && this.#deps.now() - this.#atLimitAt < AT_LIMIT_MS;
  }

  /** Messages that it can send within so many ms, as far as its limits and answers tell. */
  sendsWithin(ms: number): number {
    const {
      concurrency = 1,
      perSecond = Infinity,
      accountPerSecond = Infinity,
    } = this.#sender ?? {};
    if (this.phase !== 'closed') return 1;
    const rounds = this.#meanMs === undefined ? 1 : ms / Math.max(1, this.#meanMs);
    const limit = Math.min(perSecond, accountPerSecond);
    return Math.ceil(Math.min(concurrency * rounds, (limit * ms) / 1000));
  }

  /** A changed sender begins anew. */
  update(sender: GateSender | undefined): void {
    if (sender?.identity !== this.#sender?.identity) {
      this.#breaker = CLOSED;
      this.#meanMs = undefined;
    }
    this.#sender = sender;
    this.wake();
  }

  /** Permits for at most `max` calls. */
  take(max: number): number {
    const { rate, accountRate, calls } = this.#deps;
    const sender = this.#sender;
    const phase = this.phase;
    if (!sender || phase === 'open') return 0;
    this.#updateShare();
    const concurrency = phase === 'half_open' ? 1 : sender.concurrency;
    const free = calls.free(this.#share);
    let count = Math.min(max, concurrency - this.#used, free);
    if (count > 0 && sender.perSecond !== undefined) count = rate.take(count, sender.perSecond);
    if (count > 0 && sender.accountPerSecond !== undefined)
      count = accountRate.take(count, sender.accountPerSecond);
    this.#isLimited = count < max;
    if (this.#isLimited && count < free) this.#atLimitAt = this.#deps.now();
    if (count <= 0) return 0;
    this.#use(count);
    return count;
  }

  give(count: number): void {
    // Nobody is woken for nothing: those who wait ask again, and give nothing back again.
    if (count <= 0) return;
    this.#use(-count);
    this.wake();
  }

  /** @param ms duration of the call */
  answered(answer: SenderAnswer, ms: number): void {
    const { now, random } = this.#deps;
    const before = this.phase;
    this.#answeredAt = now();
    this.#meanMs = this.#meanMs === undefined ? ms : this.#meanMs + (ms - this.#meanMs) / 8;
    const isAlive = answer.kind === 'working';
    if (isAlive) this.#working = this.#sender?.identity ?? '';
    else this.#working = '';
    this.#breaker = afterAttempt(this.#breaker, { isAlive, now: now(), random: random() });
    if (answer.kind === 'broken') this.#open(BROKEN_PAUSE_MS);
    else if (answer.kind === 'failing' && this.phase === 'open')
      this.#open(Math.min(answer.afterMs ?? 0, MAX_PAUSE_MS));
    if (this.phase !== before) this.#deps.onPhase(this.phase);
    if (this.phase !== 'closed') this.wake();
  }

  /** Calls `wake` whenever something may have changed, until it is called. */
  onChange(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  wake(): void {
    for (const wake of this.#waiting) wake();
  }

  close(): void {
    this.#deps.rate.close();
    this.#deps.accountRate.close();
  }

  #open(pauseMs: number): void {
    this.#breaker = {
      ...this.#breaker,
      failures: Math.max(this.#breaker.failures, FAILURES_TO_OPEN),
      until: Math.max(this.#breaker.until, this.#deps.now() + pauseMs),
    };
  }

  #isQuick(): boolean {
    const isSilent = this.#used > 0 && this.#deps.now() - this.#answeredAt > SILENT_MS;
    return this.#meanMs !== undefined && this.#meanMs <= QUICK_MS && !isSilent;
  }

  #updateShare(): void {
    const isQuick = this.phase === 'closed' && this.#isQuick();
    if (isQuick === this.#share.isQuick) return;
    this.#deps.calls.change(this.#share, -this.#used);
    this.#share = { ...this.#share, isQuick };
    this.#deps.calls.change(this.#share, this.#used);
  }

  #use(count: number): void {
    if (this.#used === 0 && count > 0) this.#answeredAt = this.#deps.now();
    this.#used += count;
    this.#deps.calls.change(this.#share, count);
  }
}
