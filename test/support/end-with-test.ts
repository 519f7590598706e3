import type { ChildProcess } from 'node:child_process';

const running = new Set<ChildProcess>();

function endAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

process.once('exit', endAll);
// Vitest ends its workers with it, also when a test exceeded its time.
process.once('SIGTERM', () => {
  endAll();
  process.kill(process.pid, 'SIGTERM');
});

/**
 * Ends a server that a test starts with the test's process, when the test failed before it ended
 * the server itself.
 */
export function endWithTest(child: ChildProcess): void {
  running.add(child);
  child.once('exit', () => running.delete(child));
}
