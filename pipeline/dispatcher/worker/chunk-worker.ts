import { campaignMessageId } from '../../../events/messages/message-id.ts';
import { backoffDelay } from '../../../platform/backoff.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import type { ChunkRecipient, MessageChunk } from '../../../schemas/records.ts';
import { evolve, NO_TURN, openAttempts, unfinishedCount } from '../chunk/chunk-state.ts';
import type { ChunkWrite, LeasedChunk, WriteAnswer } from '../store/chunk-row.ts';
import { ChunkSession } from './chunk-session.ts';
import { countOutcomes, encodeOutcomes } from './outcomes.ts';
import type { Call, ChunkPorts } from './ports.ts';
import type { PlannedTurn } from './unwritten-turn.ts';

/** Recipients that are prepared together, and attempts that are recorded together. */
const PREPARE_BATCH = 100;
const MAX_WAVE = 200;
/** Until recipients that could not be looked up are looked up again, ms. */
const PREPARE_AGAIN = { base: 500, cap: 15_000, min: 200 };

export interface ChunkWorkerDeps extends ChunkPorts {
  /** Rejects when the process ends, or for what PostgreSQL will never accept. */
  write: (write: ChunkWrite) => Promise<WriteAnswer>;
  /** What is known of the chunk's sender while it is leased. */
  sender: {
    /** For outcomes. */
    provider: string;
    /** Provider and revision: what message_chunks.opened_with compares. */
    identity: string;
    isIdempotent: boolean;
    /** Messages that are prepared ahead at most, as far as their size is known. */
    ahead: () => number;
  };
  permits: {
    /** Permits for at most so many calls; they are given back when the outcome is durable. */
    take: (max: number) => number;
    give: (count: number) => void;
  };
  wake: { notify(): void; wait(ms: number): Promise<void> };
  now: () => number;
  random: () => number;
  /**
   * `ending`: the chunk is given back, because the process ends, others wait for their turn, or the
   * sender cannot send.
   */
  state: () => 'sending' | 'ending';
  /** Of the lease, ms. */
  renewAfterMs: number;
}

/**
 * Sends one leased chunk: prepares its recipients, records attempts, calls the provider, records
 * outcomes, until nothing is left to be done now, and gives the lease back. Answers `lost` when
 * somebody else has the chunk: what was called meanwhile is resolved by them.
 */
export async function sendChunk(
  leased: LeasedChunk,
  deps: ChunkWorkerDeps,
): Promise<'done' | 'released' | 'lost'> {
  const worker = new ChunkWorker(leased, deps);
  try {
    return await worker.run();
  } finally {
    worker.givePermitsBack();
  }
}

class ChunkWorker {
  readonly #leased: LeasedChunk;
  readonly #deps: ChunkWorkerDeps;
  readonly #chunk: MessageChunk;
  readonly #session: ChunkSession;
  /** Permits that recipients hold, by index. */
  readonly #permits = new Map<number, number>();
  #fence: number;
  #openedWith: string;
  #writtenAt: number;
  #isLost = false;
  /** The run is paused, or its account suspended: whoever waits stays. */
  #isHeld: boolean;
  /** Of the run, ms since the epoch. */
  #deadlineAt: number;
  /** Look-ups that failed since the last one that did not. */
  #failures = 0;

  constructor(leased: LeasedChunk, deps: ChunkWorkerDeps) {
    const { sender, now } = deps;
    this.#leased = leased;
    this.#deps = deps;
    this.#chunk = messageChunkCodec.decode(leased.record);
    this.#fence = leased.fence;
    this.#openedWith = leased.openedWith;
    this.#writtenAt = now();
    this.#isHeld = leased.run.isHeld;
    this.#deadlineAt = leased.run.deadlineAt ?? Number.POSITIVE_INFINITY;
    this.#session = new ChunkSession({
      state: leased.state,
      provider: sender.provider,
      isRepeatable: sender.isIdempotent && leased.openedWith === sender.identity,
      isIdempotent: sender.isIdempotent,
      isCancelled: leased.run.isCancelled,
      isHeld: leased.run.isHeld,
      isControl: (index) => this.#recipient(index).is_control,
      now: now(),
    });
  }

  givePermitsBack(): void {
    this.#isLost = true;
    this.#givePermits([...this.#permits.keys()]);
  }

  async run(): Promise<'done' | 'released' | 'lost'> {
    const { wake, now, state, renewAfterMs } = this.#deps;
    const session = this.#session;
    for (;;) {
      if (this.#isHeld) session.end();
      else if (now() > this.#deadlineAt) session.expire();
      else if (state() === 'ending') session.end();
      session.endWaits(now());
      this.#prepareAhead();
      const planned = this.#plan();
      if (planned) {
        if (!(await this.#write(planned))) return 'lost';
        if (session.isDone) return 'done';
      } else if (session.isDrained) {
        return (await this.#release()) ? 'released' : 'lost';
      } else if (now() - this.#writtenAt >= renewAfterMs) {
        if (!(await this.#renew())) return 'lost';
      } else await wake.wait(Math.min(this.#writtenAt + renewAfterMs, session.waitsUntil) - now());
    }
  }

  #plan(): PlannedTurn | undefined {
    const { permits, now } = this.#deps;
    const wanted = this.#session.readyCalls(MAX_WAVE);
    const free = wanted > 0 ? permits.take(wanted) : 0;
    const { planned, calls, opening } = this.#session.plan({ permits: free, now: now() });
    let left = free;
    for (const { index, message } of [...opening, ...calls]) {
      const own = Math.min(left, message.messages.length);
      this.#permits.set(index, own);
      left -= own;
    }
    permits.give(left);
    this.#call(calls);
    return planned;
  }

  async #write(planned: PlannedTurn): Promise<boolean> {
    const { now } = this.#deps;
    const { turn } = planned;
    const write = this.#writeOf(planned);
    const answer = await this.#deps.write(write);
    if (answer.kind === 'lost') return false;
    this.#fence++;
    this.#openedWith = write.openedWith;
    this.#writtenAt = now();
    this.#noteRun(answer);
    const calls = this.#session.written({ ...answer, now: now() });
    const called = new Set(calls.map(({ index }) => index));
    const ended = [
      ...[...turn.finishes, ...[...turn.retries, ...turn.repeats].map(({ index }) => index)],
      ...turn.opens.filter((index) => !called.has(index)),
    ];
    this.#givePermits(ended);
    this.#call(calls);
    return true;
  }

  /** The rows as they are after the turn, with and without its new attempts. */
  #writeOf({ turn, outcomes, capReleases }: PlannedTurn): ChunkWrite {
    const { sender, facts, now } = this.#deps;
    const { owner, runId, chunk, channel } = this.#leased;
    const after = evolve(this.#session.state, turn, { mayOpen: true });
    const held = evolve(this.#session.state, turn, { mayOpen: false });
    const finishedAt = now();
    const isDone = unfinishedCount(after) === 0;
    return {
      ...{ owner, runId, chunk, fence: this.#fence, isDone },
      ...{ opened: after.opened, openedIfHeld: held.opened, finished: after.finished },
      openedWith: turn.opens.length > 0 ? sender.identity : this.#openedWith,
      retries: after.retries,
      releaseUntil: isDone ? finishedAt : undefined,
      ...countOutcomes(outcomes, finishedAt),
      capReleases: capReleases.map(({ index, capOf }) => ({
        person: capOf,
        messageId: this.#messageId(index),
      })),
      outcomes: encodeOutcomes(outcomes, { chunk: this.#chunk, channel, finishedAt, facts }),
    };
  }

  #noteRun(run: Extract<WriteAnswer, { kind: 'written' }>): void {
    this.#isHeld ||= !run.mayOpen && !run.isCancelled;
    this.#deadlineAt = run.deadlineAt ?? Number.POSITIVE_INFINITY;
  }

  async #renew(): Promise<boolean> {
    const { write, now } = this.#deps;
    const planned = { turn: NO_TURN, outcomes: [], capReleases: [] };
    const answer = await write(this.#writeOf(planned));
    if (answer.kind === 'lost') return false;
    this.#fence++;
    this.#writtenAt = now();
    this.#noteRun(answer);
    if (answer.isCancelled) this.#session.cancel();
    return true;
  }

  async #release(): Promise<boolean> {
    const { write, now } = this.#deps;
    const planned = { turn: NO_TURN, outcomes: [], capReleases: [] };
    const releaseUntil = this.#session.nextAt(now()) ?? now();
    const openedWith = openAttempts(this.#session.state).length > 0 ? this.#openedWith : '';
    const answer = await write({ ...this.#writeOf(planned), openedWith, releaseUntil });
    return answer.kind === 'written';
  }

  #call(calls: readonly Call[]): void {
    const { call, now, random, wake } = this.#deps;
    for (const one of calls)
      void call(one).then((answer) => {
        if (this.#isLost) return;
        const at = { now: now(), random: random(), deadlineAt: this.#deadlineAt };
        this.#session.answered(one.index, answer, at);
        wake.notify();
      });
  }

  #prepareAhead(): void {
    const { sender, prepare, wake, now, random } = this.#deps;
    const session = this.#session;
    const ahead = sender.ahead();
    const left = ahead - session.readyCount - session.preparingNow;
    // A look-up costs little more for many than for one: they wait until they are a batch.
    const batch = Math.min(PREPARE_BATCH, Math.ceil(ahead / 2), session.toPrepareCount);
    if (batch === 0 || left < batch) return;
    const indexes = session.takeToPrepare(Math.min(PREPARE_BATCH, left));
    if (indexes.length === 0) return;
    const recipients = indexes.map((index) => this.#recipient(index));
    void prepare(recipients, { chunk: this.#chunk }).then(
      (decisions) => {
        this.#failures = 0;
        for (const [at, index] of indexes.entries()) {
          const decision = decisions[at];
          if (decision) session.prepared(index, decision);
        }
        wake.notify();
      },
      () => {
        const pause = backoffDelay({
          ...PREPARE_AGAIN,
          attempt: this.#failures++,
          random: random(),
        });
        session.unprepared(indexes, now() + pause);
        wake.notify();
      },
    );
  }

  #givePermits(indexes: readonly number[]): void {
    let count = 0;
    for (const index of indexes) {
      count += this.#permits.get(index) ?? 0;
      this.#permits.delete(index);
    }
    this.#deps.permits.give(count);
  }

  #recipient(index: number): ChunkRecipient {
    const recipient = this.#chunk.recipients[index];
    if (!recipient) throw new RangeError(`the chunk has no recipient ${index}`);
    return recipient;
  }

  #messageId(index: number): string {
    const { campaignId, runId } = this.#leased;
    return campaignMessageId({ campaignId, runId, key: this.#recipient(index).key });
  }
}
