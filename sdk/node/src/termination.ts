interface Ending {
  /** At SIGTERM; the process ends after it, unless the program listens for SIGTERM itself. */
  close: () => Promise<unknown>;
  /** When nothing else keeps the process alive. */
  flush: () => Promise<unknown>;
  /** When the process exits: nothing asynchronous happens any more. */
  exit: () => void;
}

/** What has to end before the process does. */
const closing = new Set<Promise<unknown>>();

/** Returns what undoes it. */
export function beforeTheEnd({ close, flush, exit }: Ending): () => void {
  const terminate = () => {
    const done = close().catch(() => {});
    closing.add(done);
    void done.then(() => {
      closing.delete(done);
      if (closing.size === 0 && process.listenerCount('SIGTERM') === 0)
        process.kill(process.pid, 'SIGTERM');
    });
  };
  const finish = () => void flush();
  process.once('SIGTERM', terminate);
  process.once('beforeExit', finish);
  process.once('exit', exit);
  return () => {
    process.off('SIGTERM', terminate);
    process.off('beforeExit', finish);
    process.off('exit', exit);
  };
}
