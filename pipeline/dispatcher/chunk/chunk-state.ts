import { countBits, emptyBits, hasBit, withBits, type Bits } from './bits.ts';

/** A recipient that is tried again, or whose attempt is repeated. */
export interface Retry {
  index: number;
  /** Attempts that ended without an outcome. */
  attempts: number;
  /** Not before, ms since the epoch. */
  at: number;
}

/**
 * What is durable of a chunk's recipients, by their index (message_chunks). A recipient is
 * unopened, opened or finished; its provider is called only while it is opened.
 */
export interface ChunkState {
  readonly recipients: number;
  readonly opened: Bits;
  /** Has an outcome. An opened recipient that is finished stays opened. */
  readonly finished: Bits;
  readonly retries: readonly Retry[];
}

/** What one statement changes; nothing of it is known to be durable before its answer. */
export interface Turn {
  /** Their provider is called when this is durable, and not before. */
  readonly opens: readonly number[];
  /** Have an outcome. */
  readonly finishes: readonly number[];
  /** Were opened, and the provider certainly did not take them: they are unopened again. */
  readonly retries: readonly Retry[];
  /** Were opened, the answer was lost, and an idempotent provider is asked again: stay opened. */
  readonly repeats: readonly Retry[];
}

export const NO_TURN: Turn = { opens: [], finishes: [], retries: [], repeats: [] };

export function newChunk(recipients: number): ChunkState {
  return {
    ...{ recipients, retries: [] },
    ...{ opened: emptyBits(recipients), finished: emptyBits(recipients) },
  };
}

/**
 * The state after a turn. A run that is paused or cancelled opens nothing: the rest of the turn
 * counts. Throws on a turn that the state forbids: a defect, after which nothing may be written.
 */
export function evolve(
  state: ChunkState,
  turn: Turn,
  { mayOpen }: { mayOpen: boolean },
): ChunkState {
  const { finishes, retries, repeats } = turn;
  for (const index of turn.opens)
    if (hasBit(state.opened, index) || hasBit(state.finished, index))
      throw new RangeError(`recipient ${index} was opened or finished before`);
  for (const index of finishes)
    if (hasBit(state.finished, index)) throw new RangeError(`recipient ${index} has an outcome`);
  const later = [...retries, ...repeats];
  for (const { index } of later)
    if (!isOpen(state, index)) throw new RangeError(`recipient ${index} is not open`);
  const changed = new Set(finishes);
  for (const { index } of later) changed.add(index);
  if (changed.size < finishes.length + later.length)
    throw new RangeError('a turn changes a recipient twice');
  return {
    recipients: state.recipients,
    opened: withBits(state.opened, {
      set: mayOpen ? turn.opens : [],
      clear: retries.map(({ index }) => index),
    }),
    finished: withBits(state.finished, { set: finishes }),
    retries: [...state.retries.filter(({ index }) => !changed.has(index)), ...later],
  };
}

/** An attempt of it was recorded, and has no outcome. */
export function isOpen({ opened, finished }: ChunkState, index: number): boolean {
  return hasBit(opened, index) && !hasBit(finished, index);
}

/** Recipients whose attempt is recorded and has no outcome, in the order of the chunk. */
export function openAttempts(state: ChunkState): number[] {
  return indexes(state, (index) => isOpen(state, index));
}

/** Recipients that were never opened, or are unopened again, in the order of the chunk. */
export function unopened({ opened, finished, recipients }: ChunkState): number[] {
  return indexes({ recipients }, (index) => !hasBit(opened, index) && !hasBit(finished, index));
}

/** Recipients without an outcome. */
export function unfinishedCount({ recipients, finished }: ChunkState): number {
  return recipients - countBits(finished);
}

function indexes(
  { recipients }: Pick<ChunkState, 'recipients'>,
  isWanted: (index: number) => boolean,
): number[] {
  return Array.from({ length: recipients }, (_, index) => index).filter(isWanted);
}
