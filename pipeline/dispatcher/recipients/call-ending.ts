import { setMaxListeners } from 'node:events';
import { onAbort } from '../../../platform/on-abort.ts';

/** Calls that begin within this time end together. */
const SHARED_MS = 1000;

interface SharedEnding {
  signal: AbortSignal;
  /** Calls that begin later have another one, ms since the epoch. */
  until: number;
  /** That have not ended. */
  calls: number;
  close: () => void;
}

/** By the signal that ends all calls: the one of the last calls. */
const endings = new WeakMap<AbortSignal, SharedEnding>();

/**
 * A signal that aborts with `signal`, and when calls that begin now have taken `limitMs`, or up to
 * a second more. Calls that begin within a second share it: a controller and a timer for each would
 * take longer than all else that a call costs here, and a third of its memory.
 * @param options.now ms since the epoch
 * @returns `release`: of this call; to be called when it has ended
 */
export function shareEnding(
  signal: AbortSignal,
  { now, limitMs }: { now: number; limitMs: number },
): { signal: AbortSignal; release: () => void } {
  const known = endings.get(signal);
  const isFresh = known && now < known.until && now >= known.until - SHARED_MS;
  const ending = isFresh && !known.signal.aborted ? known : newEnding(signal, { now, limitMs });
  endings.set(signal, ending);
  ending.calls++;
  return {
    signal: ending.signal,
    release: () => {
      ending.calls--;
      if (ending.calls > 0) return;
      ending.close();
      if (endings.get(signal) === ending) endings.delete(signal);
    },
  };
}

function newEnding(
  signal: AbortSignal,
  { now, limitMs }: { now: number; limitMs: number },
): SharedEnding {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const abort = () => {
    close();
    controller.abort();
  };
  const timer = setTimeout(abort, limitMs + SHARED_MS);
  const stopListening = onAbort(signal, abort);
  const close = () => {
    clearTimeout(timer);
    stopListening();
  };
  if (signal.aborted) abort();
  return { signal: controller.signal, until: now + SHARED_MS, calls: 0, close };
}
