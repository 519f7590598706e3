import { isHeld, type LogLayout } from '../../platform/log/layout.ts';

/**
 * What a gateway does with new records while the layout of the log changes (docs/on-call.md).
 *
 * - passing: they go to the publisher, by the number of partitions that the gateway follows.
 * - draining: they go to the held queue of the spool; the publisher finishes older ones.
 * - held: nothing older is left. The gateway says so, and waits for the layout.
 * - waiting: the number of partitions is another one. What this gateway may have sent by the
 *   former one is normalised first, so that nothing overtakes it.
 * - releasing: the held queue is published; new records still go through it.
 */
export type HoldPhase = 'passing' | 'draining' | 'held' | 'waiting' | 'releasing';

/** The layout that a gateway publishes by. */
export interface Followed {
  /** 0: no layout is known; the number of partitions is that of Kafka. */
  generation: number;
  partitions: number;
}

export interface HoldState {
  phase: HoldPhase;
  followed: Followed;
  /** The layout that was read last; undefined: none was read yet. */
  read: Pick<LogLayout, 'generation' | 'partitions' | 'phase' | 'nextPartitions'> | undefined;
}

export type HoldFact =
  | { fact: 'read'; layout: NonNullable<HoldState['read']> }
  /** Everything that was accepted before the hold is in Kafka. */
  | { fact: 'drained' }
  /** What was sent by the former number of partitions is normalised. */
  | { fact: 'normalised' }
  /** The held queue is empty. */
  | { fact: 'released' };

const UNKNOWN: Followed = { generation: 0, partitions: 1 };

/**
 * The state at the start of a process. `followed` is what the process before it followed, and
 * `hasHeld` whether it left held records; undefined: there was none, or an older version.
 */
export function initialHold(of: {
  followed: Followed | undefined;
  read: HoldState['read'];
  hasHeld: boolean;
}): HoldState {
  const { followed = UNKNOWN, read, hasHeld } = of;
  const state: HoldState = { phase: hasHeld ? 'draining' : 'passing', followed, read: undefined };
  return read ? evolveHold(state, { fact: 'read', layout: read }) : state;
}

/** The next state. A fact without meaning in a state changes nothing. */
export function evolveHold(state: HoldState, fact: HoldFact): HoldState {
  switch (fact.fact) {
    case 'read':
      return afterRead({ ...state, read: fact.layout });
    case 'drained':
      return state.phase === 'draining' ? afterRead({ ...state, phase: 'held' }) : state;
    case 'normalised':
      return state.phase === 'waiting' ? follow(state) : state;
    case 'released':
      return state.phase === 'releasing' ? { ...state, phase: 'passing' } : state;
  }
}

function afterRead(before: HoldState): HoldState {
  const { read } = before;
  if (!read) return before;
  const { generation, partitions } = read;
  const isKnown = before.followed.generation > 0;
  const state = isKnown ? before : { ...before, followed: { generation, partitions } };
  const { phase, followed } = state;
  const isSame = partitions === followed.partitions;
  switch (phase) {
    case 'passing':
    case 'releasing':
      if (isHeld(read) || !isSame) return { ...state, phase: 'draining' };
      return { ...state, followed: { ...followed, generation } };
    case 'draining':
      return state;
    case 'held':
      if (isHeld(read)) return state;
      return isSame ? follow(state) : { ...state, phase: 'waiting' };
    case 'waiting':
      return isHeld(read) ? { ...state, phase: 'held' } : state;
  }
}

function follow(state: HoldState): HoldState {
  const { read } = state;
  if (!read) return state;
  const { generation, partitions } = read;
  return { ...state, phase: 'releasing', followed: { generation, partitions } };
}

/**
 * By how many partitions new records are split. Held ones are split so finely that each lies in one
 * partition by the number of now and by the next one.
 */
export function splitBy({ phase, followed, read }: HoldState): number {
  if (phase === 'passing' || phase === 'releasing') return followed.partitions;
  const counts = [followed.partitions, read?.partitions, read?.nextPartitions];
  return counts.reduce<number>(
    (product, count) => (count === undefined ? product : leastCommonMultiple(product, count)),
    1,
  );
}

function leastCommonMultiple(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y > 0) [x, y] = [y, x % y];
  return (a / x) * b;
}
