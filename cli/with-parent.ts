import type { CommandReport } from '../platform/operations/operation-wait.ts';

/** To finish what a stop lets finish, ms; less than a lease of the parent lasts. */
const GRACE_MS = 10_000;

/**
 * A command that another process of Ravand started ends with that process, however it ends: the
 * channel between them closes. Nobody would know of its work otherwise, and it would be begun again
 * beside it.
 */
export function endWithParent(): void {
  if (!process.connected) return;
  process.once('disconnect', () => {
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref();
    process.kill(process.pid, 'SIGTERM');
  });
}

/** Reports to the service `operator` how the work of this command stands; without it, nobody. */
export function reportToParent(report: CommandReport): void {
  // A parent that ends does not read it.
  if (process.connected) process.send?.(report, () => undefined);
}
