import { countBits } from '../chunk/bits.ts';
import { newChunk, openAttempts } from '../chunk/chunk-state.ts';
import type { ChunkWrite, LeasedChunk, LeasedRun, WriteAnswer } from '../store/chunk-row.ts';
import { splitOutcomes } from '../../../messaging/outcomes/outcome-frames.ts';
import { messageChunkCodec, messageOutcomeCodec } from '../../../schemas/codec.ts';
import type { MessageChunk, MessageOutcome } from '../../../schemas/records.ts';

export interface ModelRow extends Omit<LeasedChunk, 'run' | 'owner'> {
  leasedBy: string | undefined;
  leasedUntil: number;
  nextAt: number;
  isDone: boolean;
}

export interface ModelRun extends Omit<LeasedRun, 'isHeld'> {
  isPaused: boolean;
}

const LEASE_MS = 20_000;

/** message_chunks and what is written with it, in memory: the semantics of store/*.ts. */
export class ModelStore {
  readonly rows: ModelRow[] = [];
  readonly runs = new Map<number, ModelRun>();
  readonly counts = new Map<string, number>();
  readonly outcomes: MessageOutcome[] = [];
  /** Messages that hold a place under the frequency cap. */
  readonly reserved = new Set<string>();
  /** Open attempts of chunks when another process leased them: of each, how many. */
  readonly openAtTakeover: number[] = [];

  add(chunk: MessageChunk, run: ModelRun): void {
    this.runs.set(chunk.run_id, run);
    this.rows.push({
      ...{ runId: chunk.run_id, chunk: chunk.chunk, accountId: chunk.account_id },
      ...{ campaignId: chunk.campaign_id, channel: 'email', fence: 0, openedWith: '' },
      record: messageChunkCodec.encode(chunk),
      state: newChunk(chunk.recipients.length),
      ...{ leasedBy: undefined, leasedUntil: 0, nextAt: 0, isDone: false },
    });
  }

  isHeld(runId: number): boolean {
    const run = this.runs.get(runId);
    return run === undefined || run.isPaused || run.isCancelled;
  }

  lease(owner: string, now: number): LeasedChunk | undefined {
    const inOrder = this.rows.toSorted((a, b) => a.nextAt - b.nextAt || a.chunk - b.chunk);
    for (const row of inOrder) {
      const run = this.runs.get(row.runId);
      const isLate = run?.deadlineAt !== undefined && run.deadlineAt < now;
      const isDue = run && (run.isCancelled || (!run.isPaused && (isLate || row.nextAt <= now)));
      const isLeftOpen = run?.isPaused === true && row.openedWith !== '';
      if (
        row.isDone ||
        !(isDue || isLeftOpen) ||
        (row.leasedBy !== undefined && row.leasedUntil >= now)
      )
        continue;
      this.openAtTakeover.push(openAttempts(row.state).length);
      Object.assign(row, { leasedBy: owner, leasedUntil: now + LEASE_MS, fence: row.fence + 1 });
      return { ...row, owner, run: { ...run, isHeld: run.isPaused && !run.isCancelled } };
    }
    return undefined;
  }

  /** One statement. */
  write(writes: readonly ChunkWrite[], now: number): WriteAnswer[] {
    return writes.map((write) => this.#writeOne(write, now));
  }

  #writeOne(write: ChunkWrite, now: number): WriteAnswer {
    const { owner, runId, chunk, releaseUntil } = write;
    const row = this.rows.find((one) => one.runId === runId && one.chunk === chunk);
    const run = this.runs.get(runId);
    if (!row || !run) return { kind: 'lost' };
    const mayOpen = !this.isHeld(runId);
    const { isCancelled, deadlineAt } = run;
    if (row.fence !== write.fence || row.leasedBy !== owner) {
      const wasWritten =
        row.fence === write.fence + 1 &&
        (row.leasedBy === owner || (releaseUntil !== undefined && row.leasedBy === undefined));
      if (!wasWritten) return { kind: 'lost' };
      const opensNone = write.opened.equals(write.openedIfHeld);
      return {
        kind: 'written',
        mayOpen: opensNone ? mayOpen : row.state.opened.equals(write.opened),
        ...{ isCancelled, deadlineAt },
      };
    }
    row.state = {
      recipients: row.state.recipients,
      opened: mayOpen ? write.opened : write.openedIfHeld,
      finished: write.finished,
      retries: write.retries,
    };
    row.fence++;
    row.openedWith = write.openedWith;
    row.isDone = write.isDone;
    row.leasedBy = releaseUntil === undefined ? row.leasedBy : undefined;
    row.leasedUntil = now + LEASE_MS;
    row.nextAt = releaseUntil ?? row.nextAt;
    for (const { status, messages } of write.counts)
      this.counts.set(
        `${runId} ${status}`,
        (this.counts.get(`${runId} ${status}`) ?? 0) + messages,
      );
    for (const { messageId } of write.capReleases) this.reserved.delete(messageId);
    for (const record of splitOutcomes(write.outcomes))
      this.outcomes.push(messageOutcomeCodec.decode(record));
    return { kind: 'written', mayOpen, isCancelled, deadlineAt };
  }

  /** What contradicts the guarantees in what is durable now. */
  contradictions(): string[] {
    const found: string[] = [];
    for (const runId of this.runs.keys()) {
      const rows = this.rows.filter((row) => row.runId === runId);
      const finished = rows.reduce((sum, { state }) => sum + countBits(state.finished), 0);
      const counted = [...this.counts]
        .filter(([key]) => key.startsWith(`${runId} `))
        .reduce((sum, [, messages]) => sum + messages, 0);
      if (counted !== finished) found.push(`run ${runId} counts ${counted} of ${finished}`);
    }
    const ids = this.outcomes.map((one) => one.message_id);
    if (new Set(ids).size < ids.length) found.push('a message has two outcomes');
    return found;
  }
}
