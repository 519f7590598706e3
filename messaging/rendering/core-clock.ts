/** How much the answer may be too large, ms. */
const ERROR_MS = 1;

interface Clocks {
  /** Time of a core that has been used, ms: asking takes about 1 µs. */
  core: () => number;
  /** ms, monotonic */
  wall: () => number;
}

/**
 * Time of a core that a thread has used, ms: at most ERROR_MS too much. A thread uses no more of a
 * core than passes, so the system is asked only when some time has passed since it last was.
 */
export function coreClock({ core, wall }: Clocks): () => number {
  let [used, at] = [core(), wall()];
  return () => {
    const passed = wall() - at;
    if (passed <= ERROR_MS) return used + passed;
    [used, at] = [core(), wall()];
    return used;
  };
}
