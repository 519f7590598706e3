import {
  evolve,
  isOpen,
  openAttempts,
  unfinishedCount,
  unopened,
  type ChunkState,
} from '../chunk/chunk-state.ts';
import { Attempts, type AnsweredAt } from './attempts.ts';
import { CANCELLED, DEADLINE, UNKNOWN, WITHHELD, type Ending } from './endings.ts';
import type { Call, CallAnswer, Decision, PreparedMessage } from './ports.ts';
import { isStale, ReadyMessages } from './ready-messages.ts';
import { RecipientQueue } from './recipient-queue.ts';
import { UnwrittenTurn, type PlannedTurn } from './unwritten-turn.ts';

interface SessionOptions {
  state: ChunkState;
  /** Of the provider that is called, for outcomes. */
  provider: string;
  /** Attempts that are open were made by this provider, and it takes no message twice. */
  isRepeatable: boolean;
  /** The provider takes no message twice. */
  isIdempotent: boolean;
  isCancelled: boolean;
  /** Attempts that are open end; nothing is opened or repeated. */
  isHeld: boolean;
  /** Is in the control group. */
  isControl: (index: number) => boolean;
  now: number;
}

/**
 * The recipients of one leased chunk on their way to an outcome. It holds what is known in memory
 * beside the durable state; whoever uses it does the I/O. Each recipient is in one place at a time:
 * to be prepared, being prepared, ready, opened, called, ended, or waiting.
 */
export class ChunkSession {
  readonly #options: SessionOptions;
  #state: ChunkState;
  readonly #attempts: Attempts;
  readonly #queue = new RecipientQueue();
  readonly #ready = new ReadyMessages();
  readonly #calling = new Map<number, PreparedMessage>();
  readonly #unwritten = new UnwrittenTurn();
  /** What is being written. */
  #written: (ReturnType<UnwrittenTurn['take']> & { opening: readonly Call[] }) | undefined;
  /** Why nobody is opened any more who has no outcome yet. */
  #givenUp: Ending | undefined;
  #isEnding = false;

  constructor(options: SessionOptions) {
    const { state, now, isRepeatable, isCancelled, isHeld } = options;
    this.#options = options;
    this.#state = state;
    this.#attempts = new Attempts(state);
    const later = new Map(state.retries.map(({ index, at }) => [index, at]));
    const queue = (index: number) => this.#queue.add(index, { at: later.get(index) ?? now, now });
    for (const index of openAttempts(state))
      if (isCancelled || isHeld || !isRepeatable) this.#end(index, UNKNOWN);
      else queue(index);
    for (const index of unopened(state)) queue(index);
    if (isCancelled) this.#giveUp(CANCELLED);
    else if (isHeld) this.end();
  }

  get state(): ChunkState {
    return this.#state;
  }

  /** Messages that can be opened or repeated now. */
  get readyCount(): number {
    return this.#ready.size;
  }

  /** Calls that the first of them take, of at most `max` messages. */
  readyCalls(max: number): number {
    return this.#ready.calls(max);
  }

  /** Recipients that can be prepared now. */
  get toPrepareCount(): number {
    return this.#queue.dueCount;
  }

  /** Recipients that are being prepared. */
  get preparingNow(): number {
    return this.#queue.preparingCount;
  }

  /** When the next wait ends, ms since the epoch. */
  get waitsUntil(): number {
    return this.#queue.waitsUntil;
  }

  /** Nothing is left to be done now: the chunk can be released. */
  get isDrained(): boolean {
    return (
      this.#unwritten.size + this.#calling.size + this.preparingNow === 0 &&
      this.#written === undefined &&
      (this.#isEnding || this.toPrepareCount + this.readyCount === 0)
    );
  }

  get isDone(): boolean {
    return unfinishedCount(this.#state) === 0;
  }

  /** The run was cancelled: whoever is neither called nor finished is skipped. */
  cancel(): void {
    this.#giveUp(CANCELLED);
  }

  /** The run's deadline has passed. */
  expire(): void {
    if (!this.#givenUp) this.#giveUp(DEADLINE);
  }

  /** Opens nothing more: the lease goes back when the open calls have ended. */
  end(): void {
    this.#isEnding = true;
    this.#discardReady();
  }

  takeToPrepare(max: number): number[] {
    return this.#isEnding ? [] : this.#queue.take(max);
  }

  /** They could not be looked up: they are prepared again then, ms since the epoch. */
  unprepared(indexes: readonly number[], until: number): void {
    for (const index of indexes) {
      this.#queue.prepared(index);
      this.#queue.addWaiting(index, until);
    }
    if (this.#givenUp) this.#giveUp(this.#givenUp);
  }

  /** Those who have waited long enough are prepared. */
  endWaits(now: number): void {
    this.#queue.endWaits(now);
  }

  prepared(index: number, decision: Decision): void {
    this.#queue.prepared(index);
    if (this.#givenUp || this.#isEnding) {
      this.#discard(index, decision.kind === 'send' ? decision.message : decision);
      this.#queue.addDue(index);
      if (this.#givenUp) this.#giveUp(this.#givenUp);
      return;
    }
    switch (decision.kind) {
      case 'send':
        return this.#ready.add({ index, message: decision.message });
      case 'wait': {
        const { until } = decision;
        if (this.#discard(index, decision))
          return this.#unwritten.waitAfterRelease({ index, at: until });
        return this.#queue.addWaiting(index, until);
      }
      case 'finish':
        this.#discard(index, decision);
        // What may have been sent is not known to be skipped.
        return this.#end(index, isOpen(this.#state, index) ? UNKNOWN : decision);
    }
  }

  /**
   * What is to be written next, with as many new attempts as there are permits for their calls;
   * undefined: nothing. The calls that are returned need no statement before them: their attempts
   * are recorded. Call it when nothing is being written.
   */
  plan({ permits, now }: { permits: number; now: number }): {
    planned: PlannedTurn | undefined;
    /** Whom the turn opens. */
    opening: Call[];
    calls: Call[];
  } {
    const { fresh, stale } = this.#ready.take({ permits, now });
    this.#queue.addDue(...stale);
    const calls = fresh.filter(({ index }) => isOpen(this.#state, index));
    for (const { index, message } of calls) this.#calling.set(index, message);
    const opening = fresh.filter(({ index }) => !isOpen(this.#state, index));
    if (opening.length + this.#unwritten.size === 0)
      return { planned: undefined, opening: [], calls };
    const next = this.#unwritten.take(opening.map(({ index }) => index));
    this.#written = { ...next, opening };
    return { planned: next.planned, opening, calls };
  }

  /** The planned turn is durable. Returns the calls that are to be made at once. */
  written(as: { mayOpen: boolean; isCancelled: boolean; now: number }): Call[] {
    if (!this.#written) throw new Error('nothing was being written');
    const { planned, opening, releasedWaits } = this.#written;
    const { turn } = planned;
    const { now } = as;
    this.#written = undefined;
    this.#state = evolve(this.#state, turn, as);
    for (const { index, at } of [...turn.retries, ...turn.repeats, ...releasedWaits])
      this.#queue.add(index, { at, now });
    const calls: Call[] = [];
    for (const { index, message } of opening) {
      if (!as.mayOpen) {
        this.#releaseCap(index, message);
        this.#queue.addDue(index);
        // The statement took long: nothing was called, so it is certainly not sent.
      } else if (isStale(message, now)) this.#tryAgain(index, message, now);
      else {
        this.#calling.set(index, message);
        calls.push({ index, message });
      }
    }
    if (as.isCancelled) this.#giveUp(CANCELLED);
    else if (this.#givenUp) this.#giveUp(this.#givenUp);
    else if (!as.mayOpen) this.end();
    return calls;
  }

  answered(index: number, answer: CallAnswer, at: AnsweredAt): void {
    const message = this.#calling.get(index);
    if (!message) throw new Error(`recipient ${index} was not called`);
    this.#calling.delete(index);
    this.#attempts.called(index, message);
    const { addressHash } = message;
    switch (answer.kind) {
      case 'sent': {
        const { providerMessageId } = answer;
        return this.#end(index, { status: 'sent', reason: '', addressHash, providerMessageId });
      }
      case 'failed':
        this.#releaseCap(index, message);
        return this.#end(index, { status: 'failed', reason: answer.reason, addressHash });
      case 'unknown':
        return this.#repeatOrEnd(index, message, at);
      case 'retry': {
        if (this.#attempts.isLost(index)) return this.#repeatOrEnd(index, message, at);
        const next = this.#attempts.retryAt(index, message, { ...at, afterMs: answer.afterMs });
        if (next !== undefined && !this.#givenUp) return this.#tryAgain(index, message, next);
        this.#releaseCap(index, message);
        return this.#end(index, { ...(this.#givenUp ?? DEADLINE), addressHash });
      }
    }
  }

  /** The earliest time at which something is due again, ms; undefined: at once. */
  nextAt(now: number): number | undefined {
    const retries = new Map(this.#state.retries.map(({ index, at }) => [index, at]));
    const times = [...unopened(this.#state), ...openAttempts(this.#state)].map((index) =>
      Math.max(this.#queue.waitOf(index) ?? 0, retries.get(index) ?? 0),
    );
    const next = times.reduce((earliest, at) => Math.min(earliest, at), Number.POSITIVE_INFINITY);
    return next > now && Number.isFinite(next) ? next : undefined;
  }

  #repeatOrEnd(index: number, message: PreparedMessage, at: AnsweredAt): void {
    const next = this.#attempts.repeatAt(index, message, at);
    const mayRepeat = this.#options.isIdempotent && !this.#givenUp;
    if (next === undefined || !mayRepeat)
      return this.#end(index, { ...UNKNOWN, addressHash: message.addressHash });
    this.#unwritten.repeat({ index, attempts: this.#attempts.of(index), at: next });
  }

  /** It is certainly not sent: unopened again. */
  #tryAgain(index: number, message: PreparedMessage, at: number): void {
    this.#releaseCap(index, message);
    this.#unwritten.retry({ index, attempts: this.#attempts.of(index), at });
  }

  /** Ends everybody who is neither called, nor prepared at the moment, nor ended. */
  #giveUp(ending: Ending): void {
    this.#givenUp = ending;
    const { retried, waiting } = this.#unwritten.takeLater();
    const unopenedAgain = new Set(retried);
    for (const index of [...this.#queue.takeAll(), ...this.#discardReady(), ...waiting, ...retried])
      if (isOpen(this.#state, index) && !unopenedAgain.has(index)) this.#end(index, UNKNOWN);
      else this.#end(index, this.#options.isControl(index) ? WITHHELD : ending);
  }

  /** Returns whom. */
  #discardReady(): number[] {
    const ready = this.#ready.takeAll();
    for (const { index, message } of ready) this.#discard(index, message);
    return ready.map(({ index }) => index);
  }

  /**
   * It is not called now. A repeat may have been sent before: its reservation stays. Answers
   * whether one is released.
   */
  #discard(index: number, of: { capOf?: string }): boolean {
    return !isOpen(this.#state, index) && this.#releaseCap(index, of);
  }

  #releaseCap(index: number, { capOf = '' }: { capOf?: string }): boolean {
    if (capOf !== '') this.#unwritten.releaseCap({ index, capOf });
    return capOf !== '';
  }

  #end(index: number, ending: Ending): void {
    const attempts = this.#attempts.of(index);
    this.#unwritten.finish({
      ...{ index, attempts, status: ending.status, reason: ending.reason },
      ...{ addressHash: ending.addressHash ?? '' },
      ...{ providerMessageId: ending.providerMessageId ?? '' },
      provider: attempts > 0 ? this.#options.provider : '',
    });
  }
}
