import {
  WITHHELD_REASON,
  type FailureReason,
  type SkipReason,
} from '../../../events/messages/reasons.ts';
import {
  evolve,
  isOpen,
  openAttempts,
  unfinishedCount,
  unopened,
  type ChunkState,
  type Retry,
  type Turn,
} from '../chunk/chunk-state.ts';
import type { Call, CallAnswer, Decision, PreparedMessage, RecipientOutcome } from './ports.ts';
import { MAX_LOST_ANSWERS, retryAt } from './retry-policy.ts';

/** A recipient looked up longer ago is looked up again before it is opened, ms. */
export const RESOLVED_FRESH_MS = 10_000;

/** A turn with what it writes beside the chunk. */
export interface PlannedTurn {
  turn: Turn;
  /** Of those whom it finishes. */
  outcomes: readonly RecipientOutcome[];
  /** Reservations of the frequency cap for messages that are certainly not sent. */
  capReleases: readonly CapRelease[];
}

export interface CapRelease {
  index: number;
  /** Who holds the reservation. */
  capOf: string;
}

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

/** When a call was answered, ms since the epoch, and with a number in [0, 1). */
interface AnsweredAt {
  now: number;
  random: number;
  /** Of the run: retries end then. */
  deadlineAt: number;
}

type Ending = Pick<RecipientOutcome, 'status' | 'reason'> &
  Partial<Pick<RecipientOutcome, 'addressHash' | 'providerMessageId'>>;

/**
 * The recipients of one leased chunk on their way to an outcome. It holds what is known in memory
 * beside the durable state; whoever uses it does the I/O. Each recipient is in one place at a time:
 * to be prepared, being prepared, ready, opened, called, ended, or waiting.
 */
export class ChunkSession {
  readonly #options: SessionOptions;
  #state: ChunkState;
  readonly #attempts: Map<number, number>;
  /** An attempt may still arrive at the provider: never unopened again. */
  readonly #lost: Set<number>;
  #toPrepare: number[] = [];
  readonly #preparing = new Set<number>();
  /** In the order in which they were prepared; they leave at its beginning. */
  #ready: Call[] = [];
  /** Calls of all that are ready. */
  #readyCalls = 0;
  readonly #calling = new Map<number, PreparedMessage>();
  /** Until when others wait, by index. */
  readonly #waiting = new Map<number, number>();
  #outcomes: RecipientOutcome[] = [];
  #retries: Retry[] = [];
  #repeats: Retry[] = [];
  #capReleases: CapRelease[] = [];
  /**
   * Until when those wait whose reservations are among the releases: they get new ones only after
   * these are durable.
   */
  #releasedWaits = new Map<number, number>();
  /** What is being written. */
  #written:
    | {
        turn: Turn;
        opening: ReadonlyMap<number, PreparedMessage>;
        releasedWaits: ReadonlyMap<number, number>;
      }
    | undefined;
  /** Why nobody is opened any more who has no outcome yet. */
  #givenUp: Ending | undefined;
  #isEnding = false;

  constructor(options: SessionOptions) {
    const { state, now, isRepeatable, isCancelled, isHeld } = options;
    this.#options = options;
    this.#state = state;
    this.#attempts = new Map(state.retries.map(({ index, attempts }) => [index, attempts]));
    const later = new Map(state.retries.map(({ index, at }) => [index, at]));
    this.#lost = new Set(openAttempts(state));
    for (const index of this.#lost) {
      this.#attempts.set(index, this.#attemptsOf(index) + 1);
      if (isCancelled || isHeld || !isRepeatable) this.#end(index, UNKNOWN);
      else this.#queue(index, later.get(index) ?? now, now);
    }
    for (const index of unopened(state)) this.#queue(index, later.get(index) ?? now, now);
    if (isCancelled) this.#giveUp(CANCELLED);
    else if (isHeld) this.end();
  }

  get state(): ChunkState {
    return this.#state;
  }

  /** Messages that can be opened or repeated now. */
  get readyCount(): number {
    return this.#ready.length;
  }

  /** Calls that the first of them take, of at most `max` messages. */
  readyCalls(max: number): number {
    if (this.#ready.length <= max) return this.#readyCalls;
    // One of each: this is asked with every answer.
    if (this.#ready.length === this.#readyCalls) return max;
    const first = this.#ready.slice(0, max);
    return first.reduce((calls, { message: { messages } }) => calls + messages.length, 0);
  }

  /** Outcomes and retries that are not durable yet. */
  get endedCount(): number {
    const turns = this.#outcomes.length + this.#retries.length + this.#repeats.length;
    return turns + this.#capReleases.length;
  }

  get openCalls(): number {
    return this.#calling.size;
  }

  /** Recipients that can be prepared now. */
  get toPrepareCount(): number {
    return this.#toPrepare.length;
  }

  /** Recipients that are being prepared. */
  get preparingNow(): number {
    return this.#preparing.size;
  }

  /** Nothing is left to be done now: the chunk can be released. */
  get isDrained(): boolean {
    return (
      this.endedCount + this.#calling.size + this.#preparing.size === 0 &&
      this.#written === undefined &&
      (this.#isEnding || this.#toPrepare.length + this.#ready.length === 0)
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
    if (this.#isEnding) return [];
    const some = this.#toPrepare.splice(0, max);
    for (const index of some) this.#preparing.add(index);
    return some;
  }

  /** They could not be looked up: they are prepared again then, ms since the epoch. */
  unprepared(indexes: readonly number[], until: number): void {
    for (const index of indexes) {
      this.#preparing.delete(index);
      this.#waiting.set(index, until);
    }
    if (this.#givenUp) this.#giveUp(this.#givenUp);
  }

  /** Those who have waited long enough are prepared. */
  endWaits(now: number): void {
    for (const [index, until] of this.#waiting) {
      if (until > now) continue;
      this.#waiting.delete(index);
      this.#toPrepare.push(index);
    }
  }

  /** When the next wait ends, ms since the epoch. */
  get waitsUntil(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const until of this.#waiting.values()) next = Math.min(next, until);
    return next;
  }

  prepared(index: number, decision: Decision): void {
    this.#preparing.delete(index);
    if (this.#givenUp || this.#isEnding) {
      this.#discard(index, decision.kind === 'send' ? decision.message : decision);
      this.#toPrepare.push(index);
      if (this.#givenUp) this.#giveUp(this.#givenUp);
      return;
    }
    switch (decision.kind) {
      case 'send':
        this.#ready.push({ index, message: decision.message });
        this.#readyCalls += decision.message.messages.length;
        return;
      case 'wait': {
        const isReleased = this.#discard(index, decision);
        (isReleased ? this.#releasedWaits : this.#waiting).set(index, decision.until);
        return;
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
    const opening = new Map<number, PreparedMessage>();
    const calls: Call[] = [];
    let [free, count] = [permits, 0];
    for (const { index, message } of this.#ready) {
      if (isStale(message, now)) this.#toPrepare.push(index);
      else if (free > 0) {
        // One with more calls than there are permits exceeds them, rather than never to be sent.
        free -= message.messages.length;
        if (isOpen(this.#state, index)) {
          this.#calling.set(index, message);
          calls.push({ index, message });
        } else opening.set(index, message);
      } else break;
      count++;
      this.#readyCalls -= message.messages.length;
    }
    if (count > 0) this.#ready.splice(0, count);
    const turn: Turn = {
      opens: [...opening.keys()],
      finishes: this.#outcomes.map(({ index }) => index),
      retries: this.#retries,
      repeats: this.#repeats,
    };
    if (opening.size + this.endedCount === 0) return { planned: undefined, opening: [], calls };
    const planned = { turn, outcomes: this.#outcomes, capReleases: this.#capReleases };
    [this.#outcomes, this.#retries, this.#repeats, this.#capReleases] = [[], [], [], []];
    this.#written = { turn, opening, releasedWaits: this.#releasedWaits };
    this.#releasedWaits = new Map();
    return {
      planned,
      opening: [...opening].map(([index, message]) => ({ index, message })),
      calls,
    };
  }

  /** The planned turn is durable. Returns the calls that are to be made at once. */
  written(as: { mayOpen: boolean; isCancelled: boolean; now: number }): Call[] {
    if (!this.#written) throw new Error('nothing was being written');
    const { turn, opening, releasedWaits } = this.#written;
    this.#written = undefined;
    this.#state = evolve(this.#state, turn, as);
    for (const { index, at } of [...turn.retries, ...turn.repeats]) this.#queue(index, at, as.now);
    for (const [index, until] of releasedWaits) this.#queue(index, until, as.now);
    const calls: Call[] = [];
    for (const [index, message] of opening) {
      if (!as.mayOpen) {
        this.#releaseCap(index, message);
        this.#toPrepare.push(index);
        // The statement took long: nothing was called, so it is certainly not sent.
      } else if (isStale(message, as.now)) this.#tryAgain(index, message, as.now);
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
    this.#attempts.set(index, this.#attemptsOf(index) + message.messages.length);
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
        if (this.#lost.has(index)) return this.#repeatOrEnd(index, message, at);
        const next = this.#retryAt(index, message, { ...at, afterMs: answer.afterMs });
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
      Math.max(this.#waiting.get(index) ?? 0, retries.get(index) ?? 0),
    );
    const next = times.reduce((earliest, at) => Math.min(earliest, at), Number.POSITIVE_INFINITY);
    return next > now && Number.isFinite(next) ? next : undefined;
  }

  #queue(index: number, at: number, now: number): void {
    if (at > now && !this.#givenUp) this.#waiting.set(index, at);
    else this.#toPrepare.push(index);
  }

  #repeatOrEnd(index: number, message: PreparedMessage, at: AnsweredAt): void {
    this.#lost.add(index);
    const attempts = this.#attemptsOf(index);
    const { addressHash } = message;
    const mayRepeat = this.#options.isIdempotent && !this.#givenUp;
    const next =
      mayRepeat && attempts < MAX_LOST_ANSWERS * message.messages.length
        ? this.#retryAt(index, message, at)
        : undefined;
    if (next === undefined) return this.#end(index, { ...UNKNOWN, addressHash });
    this.#repeats.push({ index, attempts, at: next });
  }

  /** It is certainly not sent: unopened again. */
  #tryAgain(index: number, message: PreparedMessage, at: number): void {
    this.#releaseCap(index, message);
    this.#retries.push({ index, attempts: this.#attemptsOf(index), at });
  }

  /** Ends everybody who is neither called, nor prepared at the moment, nor ended. */
  #giveUp(ending: Ending): void {
    this.#givenUp = ending;
    const ended = [
      ...[...this.#toPrepare, ...this.#discardReady(), ...this.#waiting.keys()],
      ...[...this.#releasedWaits.keys(), ...this.#retries.map(({ index }) => index)],
    ];
    this.#toPrepare = [];
    this.#waiting.clear();
    this.#releasedWaits.clear();
    const retried = new Set(this.#retries.map(({ index }) => index));
    this.#retries = [];
    for (const index of ended)
      if (isOpen(this.#state, index) && !retried.has(index)) this.#end(index, UNKNOWN);
      else this.#end(index, this.#options.isControl(index) ? WITHHELD : ending);
  }

  /** Returns whom. */
  #discardReady(): number[] {
    const ready = this.#ready;
    [this.#ready, this.#readyCalls] = [[], 0];
    for (const { index, message } of ready) this.#discard(index, message);
    return ready.map(({ index }) => index);
  }

  /**
   * It is not called now. A repeat may have been sent before: its reservation stays. Answers whether
   * one is released.
   */
  #discard(index: number, of: { capOf?: string }): boolean {
    return !isOpen(this.#state, index) && this.#releaseCap(index, of);
  }

  #retryAt(
    index: number,
    { messages }: PreparedMessage,
    at: AnsweredAt & { afterMs?: number | undefined },
  ): number | undefined {
    const attempts = Math.ceil(this.#attemptsOf(index) / messages.length);
    return retryAt({ attempts, ...at, afterMs: at.afterMs });
  }

  #releaseCap(index: number, { capOf = '' }: { capOf?: string }): boolean {
    if (capOf !== '') this.#capReleases.push({ index, capOf });
    return capOf !== '';
  }

  #attemptsOf(index: number): number {
    return this.#attempts.get(index) ?? 0;
  }

  #end(index: number, ending: Ending): void {
    const attempts = this.#attemptsOf(index);
    this.#outcomes.push({
      ...{ index, attempts, status: ending.status, reason: ending.reason },
      ...{ addressHash: ending.addressHash ?? '' },
      ...{ providerMessageId: ending.providerMessageId ?? '' },
      provider: attempts > 0 ? this.#options.provider : '',
    });
  }
}

const failed = (reason: FailureReason) => ({ status: 'failed', reason }) as const;
/** An attempt of which nobody knows whether it was sent; its reservation of the cap stays. */
const UNKNOWN = failed('outcome_unknown');
const DEADLINE = failed('deadline');
/** The control group stays what it is, whatever ends the run. */
const WITHHELD = { status: 'withheld', reason: WITHHELD_REASON } as const;
const CANCELLED = { status: 'skipped', reason: 'cancelled' satisfies SkipReason } as const;

function isStale({ resolvedAt }: PreparedMessage, now: number): boolean {
  return now - resolvedAt > RESOLVED_FRESH_MS;
}
