/** A run of a recurrence that is to be recorded. */
export interface PlannedInstance {
  /** ms since the epoch */
  dueAt: number;
  state: 'scheduled' | 'missed';
  /** Why it was missed; empty otherwise. */
  error: string;
}

export interface InstancePlan {
  instances: PlannedInstance[];
  /** The first instance that is not recorded; null: none is left. */
  nextAt: number | null;
}

/** Instances of a campaign that one statement records. */
const MAX_INSTANCES = 100;

/**
 * A later start is asked about, and not at all when the next instance is due (docs/messages.md,
 * Recurrence).
 */
const LATE_MS = 3_600_000;

export const MISSED_LATE =
  'The run could not start within one hour, and then the next one was due.';

/**
 * What becomes of the instances of a recurrence that are due at `now`, MAX_INSTANCES at most. An
 * instance that starts too late while its successor is due already was missed.
 * @param obstacle why none of them may run
 */
export function planInstances({
  nextAt,
  later,
  now,
  obstacle,
}: {
  nextAt: number;
  /** Instances after nextAt, ascending. */
  later: Iterable<number>;
  now: number;
  obstacle: string | undefined;
}): InstancePlan {
  const instances: PlannedInstance[] = [];
  const successors = later[Symbol.iterator]();
  let at: number | null = nextAt;
  while (at !== null && at <= now && instances.length < MAX_INSTANCES) {
    const successor = successors.next();
    const following: number | null = successor.done === true ? null : successor.value;
    const isMissed = now - at > LATE_MS && following !== null && following <= now;
    const error = obstacle ?? (isMissed ? MISSED_LATE : '');
    instances.push({ dueAt: at, state: error === '' ? 'scheduled' : 'missed', error });
    at = following;
  }
  return { instances, nextAt: at };
}
