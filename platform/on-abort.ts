const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `callback` when the signal aborts, until the returned function is called. Thousands of
 * operations under one signal share one listener: removing a listener takes time that grows with
 * their number.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const known = callbacks.get(signal);
  const all = known ?? new Set();
  if (!known) {
    callbacks.set(signal, all);
    signal.addEventListener('abort', () => all.forEach((one) => one()), { once: true });
  }
  all.add(callback);
  return () => void all.delete(callback);
}
