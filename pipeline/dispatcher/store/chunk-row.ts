import type { CappedMessage } from '../../../messaging/caps/reserve-caps.ts';
import type { ChunkState, Retry } from '../chunk/chunk-state.ts';

export interface ChunkKey {
  runId: number;
  /** From 0, in its run. */
  chunk: number;
}

/** A chunk that this process may send, as long as nobody else has leased it. */
export interface LeasedChunk extends ChunkKey {
  accountId: number;
  campaignId: number;
  channel: string;
  /** The record message-chunk.v1. */
  record: Buffer;
  state: ChunkState;
  /** Of this lease alone: the process has another one for its next lease. */
  owner: string;
  /** Rises with each write; a write with another one changes nothing. */
  fence: number;
  /** The provider of the attempts that are open; empty: there are none. */
  openedWith: string;
  run: LeasedRun;
}

/** What a chunk's recipients are sent, as it was when the run was asked for. */
export interface LeasedRun {
  /** messaging/campaigns */
  definition: unknown;
  version: number;
  isCancelled: boolean;
  /** It is paused, or its account is suspended: what is open ends, and nothing is opened. */
  isHeld: boolean;
  /** Of the run, ms since the epoch; undefined: none yet. */
  deadlineAt: number | undefined;
  /** {audience, identities_revision} */
  frozen: unknown;
}

/** One write of a leased chunk: a turn and what belongs to it, or the renewal of the lease. */
export interface ChunkWrite extends ChunkKey {
  /** Of the lease. */
  owner: string;
  /** As the row has it before. */
  fence: number;
  opened: Buffer;
  /** Instead of `opened` in a run that is paused or cancelled: without the new attempts. */
  openedIfHeld: Buffer;
  openedWith: string;
  finished: Buffer;
  retries: readonly Retry[];
  isDone: boolean;
  /** The lease ends, and the chunk waits until then, ms since the epoch; undefined: renewed. */
  releaseUntil: number | undefined;
  counts: readonly OutcomeCount[];
  /** Sent messages by Jalali month. */
  meters: readonly { month: string; messages: number }[];
  /** messaging/caps */
  capReleases: readonly CappedMessage[];
  /** Records of message-outcome.v1, each behind its length; empty: none. */
  outcomes: Buffer;
}

export interface OutcomeCount {
  status: string;
  reason: string;
  messages: number;
}

export type WriteAnswer =
  | {
      kind: 'written';
      /** The new attempts are recorded; false: the run is paused or cancelled. */
      mayOpen: boolean;
      isCancelled: boolean;
      /** It moves while the sender works at its limits. */
      deadlineAt: number | undefined;
    }
  /** Somebody else has the chunk, or it is gone: nothing was written. */
  | { kind: 'lost' };
