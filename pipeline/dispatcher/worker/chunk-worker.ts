import { campaignMessageId } from '../../../events/messages/message-id.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import type { ChunkRecipient, MessageChunk } from '../../../schemas/records.ts';
import { evolve, NO_TURN, unfinishedCount } from '../chunk/chunk-state.ts';
import type { ChunkWrite, LeasedChunk, WriteAnswer } from '../store/chunk-row.ts';
import { ChunkSession, type Call, type PlannedTurn } from './chunk-session.ts';
import { countOutcomes, encodeOutcomes, type OutcomeFacts } from './outcomes.ts';
import type { CallAnswer, Decision } from './ports.ts';

/** Recipients that are prepared together, and that are prepared ahead of their calls. */
const PREPARE_BATCH = 100;

export interface ChunkWorkerDeps {
  writer: { write(write: ChunkWrite): Promise<WriteAnswer> };
  /** What is known of the chunk's sender while it is leased. */
  sender: {
    /** For outcomes. */
    provider: string;
    /** Provider and revision: what message_chunks.opened_with compares. */
    identity: string;
    isIdempotent: boolean;
    /** Messages that are prepared ahead at most. */
    ahead: number;
  };
  permits: {
    /** Permits for at most so many calls; each is given back when its outcome is durable. */
    take: (max: number) => number;
    give: (count: number) => void;
  };
  /** Rejects when the recipients cannot be looked up now: they are tried again. */
  prepare: (recipients: readonly ChunkRecipient[], chunk: MessageChunk) => Promise<Decision[]>;
  /** Never rejects. */
  call: (call: Call) => Promise<CallAnswer>;
  facts: OutcomeFacts;
  wake: { notify(): void; wait(ms: number): Promise<void> };
  now: () => number;
  random: () => number;
  /** Whether the chunk is to be given back: the process ends, or others wait for their turn. */
  isEnding: () => boolean;
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
  /** Recipients that hold a permit. */
  readonly #permits = new Set<number>();
  #fence: number;
  #openedWith: string;
  #writtenAt: number;
  #isLost = false;

  constructor(leased: LeasedChunk, deps: ChunkWorkerDeps) {
    const { sender, now } = deps;
    this.#leased = leased;
    this.#deps = deps;
    this.#chunk = messageChunkCodec.decode(leased.record);
    this.#fence = leased.fence;
    this.#openedWith = leased.openedWith;
    this.#writtenAt = now();
    this.#session = new ChunkSession({
      state: leased.state,
      provider: sender.provider,
      isRepeatable: sender.isIdempotent && leased.openedWith === sender.identity,
      isIdempotent: sender.isIdempotent,
      isCancelled: leased.run.isCancelled,
      deadlineAt: leased.run.deadlineAt ?? Number.POSITIVE_INFINITY,
      now: now(),
    });
  }

  givePermitsBack(): void {
    this.#isLost = true;
    this.#deps.permits.give(this.#permits.size);
    this.#permits.clear();
  }

  async run(): Promise<'done' | 'released' | 'lost'> {
    const { wake, now, isEnding, renewAfterMs } = this.#deps;
    const session = this.#session;
    for (;;) {
      if (isEnding()) session.end();
      this.#prepareAhead();
      const planned = this.#plan();
      if (planned) {
        if (!(await this.#write(planned))) return 'lost';
        if (session.isDone) return 'done';
      } else if (session.isDrained) {
        return (await this.#release()) ? 'released' : 'lost';
      } else if (now() - this.#writtenAt >= renewAfterMs) {
        if (!(await this.#renew())) return 'lost';
      } else await wake.wait(this.#writtenAt + renewAfterMs - now());
    }
  }

  #plan(): PlannedTurn | undefined {
    const { permits, now } = this.#deps;
    const free = this.#session.readyCount > 0 ? permits.take(this.#session.readyCount) : 0;
    const { planned, calls } = this.#session.plan({ permits: free, now: now() });
    const using = [...(planned?.turn.opens ?? []), ...calls.map(({ index }) => index)];
    for (const index of using) this.#permits.add(index);
    permits.give(free - using.length);
    this.#call(calls);
    return planned;
  }

  async #write(planned: PlannedTurn): Promise<boolean> {
    const { writer, permits, now } = this.#deps;
    const { turn } = planned;
    const write = this.#writeOf(planned);
    const answer = await writer.write(write);
    if (answer.kind === 'lost') return false;
    this.#fence++;
    this.#openedWith = write.openedWith;
    this.#writtenAt = now();
    const calls = this.#session.written({ ...answer, now: now() });
    const called = new Set(calls.map(({ index }) => index));
    const ended = [
      ...[...turn.finishes, ...[...turn.retries, ...turn.repeats].map(({ index }) => index)],
      ...turn.opens.filter((index) => !called.has(index)),
    ];
    permits.give(ended.filter((index) => this.#permits.delete(index)).length);
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

  async #renew(): Promise<boolean> {
    const { writer, now } = this.#deps;
    const planned = { turn: NO_TURN, outcomes: [], capReleases: [] };
    const answer = await writer.write(this.#writeOf(planned));
    if (answer.kind === 'lost') return false;
    this.#fence++;
    this.#writtenAt = now();
    if (answer.isCancelled) this.#session.cancel();
    else if (!answer.mayOpen) this.#session.end();
    return true;
  }

  async #release(): Promise<boolean> {
    const { writer, now } = this.#deps;
    const planned = { turn: NO_TURN, outcomes: [], capReleases: [] };
    const releaseUntil = this.#session.nextAt(now()) ?? now();
    const answer = await writer.write({ ...this.#writeOf(planned), releaseUntil });
    return answer.kind === 'written';
  }

  #call(calls: readonly Call[]): void {
    const { call, now, random, wake } = this.#deps;
    for (const one of calls)
      void call(one).then((answer) => {
        if (this.#isLost) return;
        this.#session.answered(one.index, answer, { now: now(), random: random() });
        wake.notify();
      });
  }

  #prepareAhead(): void {
    const { sender, prepare, wake } = this.#deps;
    const session = this.#session;
    const ahead = session.readyCount + session.preparingNow;
    if (ahead >= sender.ahead || session.preparingNow >= 2 * PREPARE_BATCH) return;
    const indexes = session.takeToPrepare(Math.min(PREPARE_BATCH, sender.ahead - ahead));
    if (indexes.length === 0) return;
    const recipients = indexes.map((index) => this.#recipient(index));
    void prepare(recipients, this.#chunk).then(
      (decisions) => {
        for (const [at, index] of indexes.entries()) {
          const decision = decisions[at];
          if (decision) session.prepared(index, decision);
        }
        wake.notify();
      },
      () => {
        session.unprepared(indexes);
        wake.notify();
      },
    );
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
